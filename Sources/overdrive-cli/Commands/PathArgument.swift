#if CLI
internal import ArgumentParser

/// A path that the user named, byte for byte.
struct PathArgument: ExpressibleByArgument {
    let bytes: Bytes

    init(argument: String) {
        bytes = RawArgument.bytes(for: argument)
    }
}

extension EngineName: ExpressibleByArgument {}
#endif
