// Owns the start and end of a trace by the program. Programs call it. The engine writes the file.

internal import CScheduler

extension Scheduler {
    /// Writes a trace of every scheduler of the process, which Perfetto opens (ui.perfetto.dev).
    ///
    ///     try Scheduler.trace(to: "run.pftrace")
    ///     renderAll()
    ///     Scheduler.endTrace()
    ///
    /// `overdrive trace report run.pftrace` prints where time went: see <doc:WhySlow>. The environment variable
    /// `OVERDRIVE_TRACE` does the same without a change to the program. The trace also ends with the process.
    ///
    /// - Parameter path: A new file. It is created for its owner alone, and replaces nothing.
    /// - Throws: ``TraceError`` if the file cannot be created, or another trace is being written.
    /// - Ordering: Closures that are submitted after this call are in the trace.
    /// - Threading: Any thread. A forked child is not in its parent's trace.
    /// - Cost: 1 MiB for each thread that runs or submits closures, and about 15 ns for each of a closure's 3 events on a
    ///   machine whose counter takes 13 ns. The writing thread has a lower priority. If no CPU is free, events are lost.
    public static func trace(to path: String) throws(TraceError) {
        let sentence = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { room -> String? in
            guard let start = room.baseAddress else { return nil }
            unsafe start.initialize(repeating: 0, count: room.count)
            return unsafe od_trace_start(path, 0, 0, start, room.count) ? nil : String(cString: start)
        }
        if let sentence { throw TraceError(description: "Scheduler.trace(to:): " + sentence) }
    }

    /// Ends the trace that ``trace(to:)`` or the environment began, and returns when its file is closed.
    ///
    ///     Scheduler.endTrace() // run.pftrace is complete
    ///
    /// - Returns: Whether a trace was being written.
    /// - Ordering: Events before this call are in the file. Closures that still run end in the trace at this moment.
    /// - Threading: Any thread.
    /// - Cost: Writes what the threads have recorded since the last 10 ms.
    @discardableResult
    public static func endTrace() -> Bool {
        od_trace_stop(nil)
    }

    /// Writes the last seconds of every scheduler of the process, which the recorder keeps, into a file.
    ///
    ///     let file = try Scheduler.saveRecording("request 4711 took 12 s")
    ///     // overdrive trace convert /var/tmp/overdrive-812-1.odrec
    ///
    /// The environment variable `OVERDRIVE_RECORDER` names a directory and turns the recorder on. See <doc:DiagnosingAHang>.
    ///
    /// - Parameter reason: One sentence that the file keeps.
    /// - Returns: The path of the new file.
    /// - Throws: ``TraceError`` if nothing is recorded, or the file cannot be written.
    /// - Ordering: Events before this call are in the file.
    /// - Threading: Any thread. A forked child records nothing.
    /// - Cost: Writes up to 512 KiB for each thread. Threads that start, end or fork wait for it.
    @discardableResult
    public static func saveRecording(_ reason: String = "Scheduler.saveRecording") throws(TraceError) -> String {
        let (saved, text) = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_200) { room -> (Bool, String) in
            guard let start = room.baseAddress else { return (false, "") }
            unsafe start.initialize(repeating: 0, count: room.count)
            return unsafe (od_recording_save(reason, start, room.count), String(cString: start))
        }
        guard saved else { throw TraceError(description: "Scheduler.saveRecording(_:): " + text) }
        return text
    }

    /// Why a trace could not begin, or a recording could not be written.
    public struct TraceError: Error, Equatable, CustomStringConvertible {
        /// One sentence with the call, the problem and a remedy.
        public let description: String
    }
}
