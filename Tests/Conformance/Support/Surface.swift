import Dispatch
import OverdriveCore
import Testing

/// One of the three things that must behave alike: what Linux programs use today, ours, and ours in the shapes of theirs.
///
/// Every scenario takes a surface and uses it through ``Queue``, ``Group`` and their like. Where the two differ on
/// purpose, the scenario asks for ``expects(_:theirs:ours:)`` and so states both behaviours.
enum Surface: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
    /// libdispatch, with Foundation's OperationQueue on top.
    case libdispatch
    case overdrive
    /// The same types again, from OverdriveDispatch.
    case dropIn

#if THREAD_SANITIZER
    /// ThreadSanitizer's runtime makes ordinary closures of libdispatch's barriers.
    static let all: [Surface] = [.overdrive, .dropIn]
#else
    static let all = allCases
#endif

    /// Without the drop-in types, for what their own tests ask them.
    static let apart = all.filter { $0 != .dropIn }

    var testDescription: String { rawValue }

    /// What this surface does where the two differ on purpose. The difference stands in docs/differences.md.
    func expects<Value>(_ difference: Difference, theirs: @autoclosure () -> Value, ours: @autoclosure () -> Value) -> Value {
        switch self {
        case .libdispatch: theirs()
        case .dropIn: difference.isKeptByDropIn ? theirs() : ours()
        case .overdrive: ours()
        }
    }

    /// The one of three that is this surface's.
    func pick<A, B, C>(
        _ theirs: @autoclosure () -> A, _ dropIn: @autoclosure () -> B, _ ours: @autoclosure () -> C
    ) -> Counterpart<A, B, C> {
        switch self {
        case .libdispatch: .theirs(theirs())
        case .dropIn: .dropIn(dropIn())
        case .overdrive: .ours(ours())
        }
    }
}

/// One thing, as a surface has it.
enum Counterpart<Theirs, Ported, Ours>: @unchecked Sendable {
    // On Linux items, keys and sources of libdispatch do not say that they are Sendable; they are made for use by
    // several threads.
    case theirs(Theirs)
    case dropIn(Ported)
    case ours(Ours)

    /// Calls the one of three closures that is its surface's.
    func on<R>(_ theirs: (Theirs) throws -> R, _ dropIn: (Ported) throws -> R, _ ours: (Ours) throws -> R) rethrows -> R {
        switch self {
        case .theirs(let one): try theirs(one)
        case .dropIn(let one): try dropIn(one)
        case .ours(let one): try ours(one)
        }
    }

    /// Both, which are of one surface.
    func and<A, B, C>(_ other: Counterpart<A, B, C>) -> Counterpart<(Theirs, A), (Ported, B), (Ours, C)> {
        switch (self, other) {
        case (.theirs(let one), .theirs(let other)): .theirs((one, other))
        case (.dropIn(let one), .dropIn(let other)): .dropIn((one, other))
        case (.ours(let one), .ours(let other)): .ours((one, other))
        default: preconditionFailure("things of two surfaces")
        }
    }
}

/// In so many milliseconds.
func soon(_ milliseconds: Int) -> DispatchTime { .now() + .milliseconds(milliseconds) }
