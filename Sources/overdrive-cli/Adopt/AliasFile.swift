#if CLI
/// The file that gives a module Overdrive's types under the names of Dispatch and Foundation.
enum AliasFile {
    static let name = "OverdriveAdopted.swift"

    /// The first line of the file, by which it is recognised.
    static let mark = "// Written by `overdrive adopt`."

    /// The types that contain or are queues. Times, intervals and quality of service remain Dispatch's types.
    static let types = [
        "DispatchObject", "DispatchQueue", "DispatchGroup", "DispatchSemaphore", "DispatchWorkItem",
        "DispatchSpecificKey", "DispatchPredicate", "DispatchSource", "DispatchSourceProtocol", "DispatchSourceTimer",
        "DispatchSourceRead", "DispatchSourceWrite", "DispatchSourceSignal", "DispatchSourceUserDataAdd",
        "DispatchSourceUserDataOr", "DispatchSourceUserDataReplace", "DispatchIO", "Operation", "BlockOperation",
        "OperationQueue",
    ]

    /// Returns the file's text. It re-exports the import, because some files see a type's members only in modules
    /// that they import.
    ///
    /// - Parameter isPublic: Whether the module's declarations, which may use the types, are public.
    static func text(isPublic: Bool) -> String {
        let access = isPublic ? "public " : ""
        let aliases = types.map { "\(access)typealias \($0)\(generics(of: $0)) = OverdriveDispatch.\($0)\(generics(of: $0))" }
        return """
            \(mark) This module's queues and operations are Overdrive's;
            // `overdrive adopt --undo` takes the file away again.
            @_exported public import OverdriveDispatch

            \(aliases.joined(separator: "\n"))

            // As few parameters as these have, they come before Dispatch's own where both would do.
            func dispatchPrecondition(condition: @autoclosure () -> OverdriveDispatch.DispatchPredicate) {
                OverdriveDispatch.dispatchPrecondition(condition: condition())
            }

            func dispatchPrecondition(
                condition: @autoclosure () -> OverdriveDispatch.DispatchPredicate, file: StaticString, line: UInt
            ) {
                OverdriveDispatch.dispatchPrecondition(condition: condition(), file: file, line: line)
            }

            func dispatchMain() -> Never {
                OverdriveDispatch.dispatchMain()
            }

            """
    }

    private static func generics(of type: String) -> String { type == "DispatchSpecificKey" ? "<T>" : "" }
}
#endif
