import Foundation
import OverdriveCore
import OverdriveTesting
import Testing

/// Runs the suites of this target one after another: they share OVERDRIVE_REPLAY.
@Suite(.serialized) struct OneAtATimeTests {}

extension OneAtATimeTests {
    @Suite("Twenty classic bugs", .serialized, .timeLimit(.minutes(10)))
    struct ClassicBugTests {}
}

extension OneAtATimeTests.ClassicBugTests {
    /// Replays of each failure; OVERDRIVE_TESTING_REPLAYS=100 for a thorough run.
    private static let replays = Int(ProcessInfo.processInfo.environment["OVERDRIVE_TESTING_REPLAYS"] ?? "") ?? 2

    private func find(_ bug: ClassicBug, _ strategy: Strategy) -> ScheduleFailure? {
        do {
            try explore(iterations: 1_000, strategy: strategy, workers: 3, bug.body)
            return nil
        } catch { return error as? ScheduleFailure }
    }

    @Test("each_bug_is_found_within_1000_iterations_and_replayed", arguments: ClassicBug.all)
    func found(bug: ClassicBug) throws {
        let failure = try #require(find(bug, .randomWalk) ?? find(bug, .priorities(depth: 3)))
        #expect(failure.kind == bug.kind, "\(failure)")
        setenv("OVERDRIVE_REPLAY", failure.replay, 1)
        defer { unsetenv("OVERDRIVE_REPLAY") }
        for _ in 0..<Self.replays {
            let again = try #require(find(bug, .randomWalk))
            #expect(again.kind == failure.kind && again.story == failure.story && again.replay == failure.replay)
        }
    }

    @Test("there_are_twenty_bugs")
    func count() {
        #expect(ClassicBug.all.count == 20)
    }

    @Test("a_string_of_another_version_or_program_is_refused_by_name")
    func badStrings() throws {
        defer { unsetenv("OVERDRIVE_REPLAY") }
        setenv("OVERDRIVE_REPLAY", "od0.1.2.3", 1)
        let error = #expect(throws: ExplorationError.self) { try explore(ClassicBug.lostUpdate.body) }
        #expect(error?.description == "explore: OVERDRIVE_REPLAY has another form or version (od0.1.2.3). Copy the string of a failure of this version.")
        for text in ["od1.1.99999999999999999999..", "od1.1.9223372036854775807..a", "od1.1.5.2:1,2:0.a", "od1.1.5.5:1.a"] {
            setenv("OVERDRIVE_REPLAY", text, 1)
            #expect(throws: ExplorationError.self, "\(text)") { try explore(ClassicBug.lostUpdate.body) }
        }
        unsetenv("OVERDRIVE_REPLAY")
        let failure = try #require(find(.lostUpdate, .randomWalk))
        setenv("OVERDRIVE_REPLAY", failure.replay, 1)
        let other = try #require(find(.tornTransfer, .randomWalk))
        #expect(other.kind == .diverged && other.message.hasPrefix("the run differs from OVERDRIVE_REPLAY from decision "))
        #expect(throws: Never.self) { try explore(iterations: 1) { _, _ in } }  // another line: not repeated
        let site = failure.replay.split(separator: ".")[1]
        setenv("OVERDRIVE_REPLAY", "od1.\(site).0.1000000:1.", 1)
        #expect(try #require(find(.lostUpdate, .randomWalk)).kind == .diverged)
    }
}
