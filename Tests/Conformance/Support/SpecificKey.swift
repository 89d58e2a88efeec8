import Dispatch
import OverdriveCore

/// A `DispatchSpecificKey` or a `TaskQueue.SpecificKey`.
typealias SpecificKey = Counterpart<
    DispatchSpecificKey<String>, DropIn.DispatchSpecificKey<String>, TaskQueue.SpecificKey<String>
>

extension Surface {
    func specificKey() -> SpecificKey { pick(DispatchSpecificKey(), DropIn.DispatchSpecificKey(), TaskQueue.SpecificKey()) }
}

extension SpecificKey {
    /// The value for the closure that runs here.
    var current: String? {
        on(
            { DispatchQueue.getSpecific(key: $0) }, { DropIn.DispatchQueue.getSpecific(key: $0) },
            { TaskQueue.getSpecific(key: $0) })
    }
}

extension Queue {
    func setSpecific(_ key: SpecificKey, _ value: String?) {
        and(key).on(
            { $0.setSpecific(key: $1, value: value) }, { $0.setSpecific(key: $1, value: value) },
            { $0.setSpecific(key: $1, value: value) })
    }

    func getSpecific(_ key: SpecificKey) -> String? {
        and(key).on({ $0.getSpecific(key: $1) }, { $0.getSpecific(key: $1) }, { $0.getSpecific(key: $1) })
    }
}
