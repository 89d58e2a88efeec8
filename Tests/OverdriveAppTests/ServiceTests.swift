import Glibc
import TestSupport
import Testing

@testable import OverdriveApp

@Suite("Services")
struct ServiceTests {
    protocol Printer: Sendable { var name: String { get } }
    final class Console: Printer { let name = "console" }
    struct Stub: Printer { let name = "stub" }

    enum First { struct Thing: Sendable { let number = 1 } }
    enum Second { struct Thing: Sendable { let number = 2 } }

    @Test("are found by type, by protocol and by name, also when types are called alike")
    func found() {
        let locator = ServiceLocator()
        locator.add {
            Register((any Printer).self) { Console() }
            Register { First.Thing() }
            Register { Second.Thing() }
            Register(String.self, name: "uploads") { "/srv/uploads" }
            Register(String.self, name: "logs") { "/var/log" }
        }
        #expect((locator.module() as any Printer).name == "console")
        #expect(locator.module(for: First.Thing.self).number == 1)
        #expect(locator.module(for: Second.Thing.self).number == 2)
        #expect(Injected<String>(name: "logs", in: locator)() == "/var/log")
        #expect(Injected<String>(name: "uploads", in: locator).value == "/srv/uploads")
    }

    @Test("are made once or for each who asks, as the policy says", arguments: [StoragePolicy.unique, .new])
    func policies(policy: StoragePolicy) {
        let (locator, made) = (ServiceLocator(), Counter())
        locator.add {
            Register(policy) { () -> Console in
                made.add()
                return Console()
            }
        }
        #expect(made.count == 0)
        let same = policy == .unique
        #expect((locator.module(for: Console.self) === locator.module(for: Console.self)) == same)
        let (one, other) = (Injected<Console>(in: locator), Injected<Console>(in: locator))
        #expect(one() === one() && (one() === other()) == same)
        #expect(made.count == (same ? 1 : 4))
    }

    @Test("are resolved when they are first used, and kept by who has resolved them")
    func registeredAgain() {
        let locator = ServiceLocator()
        locator.add { Register((any Printer).self, .unique) { Console() } }
        let (early, late) = (Injected<any Printer>(in: locator), Injected<any Printer>(in: locator))
        #expect(!early.isResolved)
        #expect(early().name == "console" && early.isResolved)
        locator.add { Register((any Printer).self, .unique) { Stub() } }
        // Who has resolved keeps it; who has not, and who asks the locator, sees the new one: no stale instance.
        #expect(early().name == "console" && late().name == "stub")
        #expect((locator.module() as any Printer).name == "stub")
    }

    @Test("of one type from two providers fail the boot with both names; under names of their own they may be")
    func registeredTwice() async throws {
        struct One: ServiceProvider { func modules() -> [Register] { [Register { Console() }] } }
        struct Other: ServiceProvider { func modules() -> [Register] { [Register { Console() }] } }
        struct Named: ServiceProvider { func modules() -> [Register] { [Register(name: "b", .new) { Console() }] } }
        let report = await AppTasks.build(serviceProviders: [One(), Other()], options: testOptions()).ended()
        guard case .registeredTwice(let service, "One", "Other") = report.failure else {
            Issue.record("\(String(describing: report.failure))")
            return
        }
        #expect(service.hasSuffix("ServiceTests.Console"))
        let app = AppTasks.build(serviceProviders: [One(), Named()], options: testOptions())
        try await app.booted()
        await app.over()
        let locator = ServiceLocator()
        #expect(throws: AppError.self) { try locator.addBuildTasks { [One(), Other()] } }
        #expect(throws: ServiceError.self) { try locator.resolve(Console.self) }  // nothing is registered then
        try locator.addBuildTasks { [One()] }
        #expect(locator.module(for: Console.self).name == "console")
    }

    @Test("that are missing are one sentence with the type and who asked")
    func missing() throws {
        let locator = ServiceLocator()
        let error = #expect(throws: ServiceError.self) { try locator.resolve(Console.self) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains("ServiceTests.Console is not registered, and OverdriveAppTests/ServiceTests.swift:"))
        locator.add {
            Register(String.self) {
                do { return try locator.resolve(Console.self).name } catch { return "\(error)" }
            }
        }
        #expect(locator.module(for: String.self).contains("the registration of Swift.String, at OverdriveAppTests/ServiceTests.swift:"))
    }

    @Test("that are missing end the program where nobody can catch it")
    func missingTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            final class Asker: @unchecked Sendable { @Inject(name: "x") var text: String }
            print(Asker().text)
        }
        let said = written(result?.standardErrorContent)
        #expect(said.contains("Swift.String named \"x\" is not registered, and OverdriveAppTests/ServiceTests.swift:"), "\(said)")
    }

    final class A: Sendable {}
    final class B: Sendable {}
    final class C: Sendable {}

    @Test("that need themselves are named with the way round", arguments: [StoragePolicy.unique, .new])
    func circle(policy: StoragePolicy) {
        let (locator, said) = (ServiceLocator(), Log<String>())
        locator.add {
            Register(policy) { () -> A in _ = locator.module(for: B.self); return A() }
            Register(policy) { () -> B in _ = locator.module(for: C.self); return B() }
            Register(policy) { () -> C in
                do { _ = try locator.resolve(A.self) } catch { said.note("\(error)") }
                return C()
            }
        }
        _ = locator.module(for: A.self)
        let sentence = said.all.joined()
        #expect(sentence.contains("ServiceTests.A needs OverdriveAppTests.ServiceTests.B, "), "\(sentence)")
        #expect(sentence.contains("ServiceTests.C needs OverdriveAppTests.ServiceTests.A"), "\(sentence)")
        #expect(said.all.count == 1)
    }

    @Test("circle_through_a_branch_of_the_registration_is_an_error")
    func circleThroughBranch() {
        let (locator, said) = (ServiceLocator(), Log<String>())
        locator.add {
            Register(.unique) { () -> A in
                Parallel.forEach(0..<64) { _ in
                    do { _ = try locator.resolve(A.self) } catch { said.note("\(error)") }
                }
                return A()
            }
        }
        onThreads(1) { _ in _ = locator.module(for: A.self) }
        #expect(said.all.count == 64 && said.all.allSatisfy { $0.contains("ServiceTests.A needs ") })
    }

    @Test("registration_that_waits_for_a_thread_that_needs_its_service_is_named_in_a_warning")
    func circleThroughOtherThread() async {
        await #expect(processExitsWith: .success) {
            Scheduler.onWarning { sentence in
                if sentence.contains("has waited 1 s for OverdriveAppTests.ServiceTests.A, whose registration") { exit(0) }
            }
            let locator = ServiceLocator()
            locator.add {
                Register(.unique) { () -> A in
                    let group = WaitGroup()
                    TaskQueue.global().async(group: group) { _ = locator.module(for: A.self) }
                    _ = group.wait(timeout: .seconds(60))
                    exit(1)
                }
            }
            _ = locator.module(for: A.self)
        }
    }

    @Test("may be asked for by a Swift task that their registration left behind")
    func taskLeftBehind() async {
        let (locator, found) = (ServiceLocator(), Log<String>())
        let done = WaitGroup()
        done.enter()
        locator.add {
            Register(.unique) { () -> A in
                AsyncTask {
                    do { _ = try locator.resolve(A.self); found.note("found") } catch { found.note("\(error)") }
                    done.leave()
                }
                return A()
            }
        }
        _ = locator.module(for: A.self)
        await withCheckedContinuation { continuation in done.notify(on: .global()) { continuation.resume() } }
        #expect(found.all == ["found"])
    }

    @Test("that need each other from two threads are named, too: neither waits for ever", arguments: [false, true])
    func circleAcrossThreads(isNested: Bool) {
        let (locator, said) = (ServiceLocator(), Log<String>())
        let (hasA, hasB, thread) = (Gate(), Gate(), Log<String>())
        locator.add {
            Register(.unique) { () -> A in
                thread.note(thisThread())
                hasA.open()
                hasB.pass()
                if isNested {
                    _ = locator.module(for: C.self)
                    return A()
                }
                do { _ = try locator.resolve(B.self) } catch { said.note("\(error)") }
                return A()
            }
            Register(.unique) { () -> C in
                do { _ = try locator.resolve(B.self) } catch { said.note("\(error)") }
                return C()
            }
            Register(.unique) { () -> B in
                hasB.open()
                hasA.pass()
                if isNested { #expect(comesToRest(Set(thread.all))) }  // that one waits first
                do { _ = try locator.resolve(A.self) } catch { said.note("\(error)") }
                return B()
            }
        }
        #expect(
            onThreads(2, within: 60) { thread in
                if thread == 0 { _ = locator.module(for: A.self) } else { _ = locator.module(for: B.self) }
            })
        #expect(said.all.count == 1, "\(said.all)")
        #expect(said.all.joined().contains("which needs itself"))
    }

    /// What a service had waited for was taken for what it waits for still.
    @Test("that have waited for another one are waited for in their turn by what that one began")
    func waitIsOver() {
        let (locator, scheduler, thread) = (ServiceLocator(), makeScheduler(), Log<String>())
        let (makesB, bIsMade, hasB, aIsMade) = (Gate(), Gate(), Gate(), Gate())
        let said = Log<String>()
        locator.add {
            Register(.unique) { () -> A in
                _ = locator.module(for: B.self)
                hasB.open()
                aIsMade.pass()
                return A()
            }
            Register(.unique) { () -> B in
                makesB.open()
                bIsMade.pass()
                // Its values are those of this place.
                AsyncTask(executorPreference: scheduler) {
                    hasB.pass()
                    thread.note(thisThread())
                    do {
                        _ = try locator.resolve(A.self)
                        said.note("found")
                    } catch { said.note("\(error)") }
                }
                return B()
            }
        }
        onThreads(3) { number in
            switch number {
            case 0: _ = locator.module(for: B.self)
            case 1:
                makesB.pass()
                thread.note(thisThread())
                _ = locator.module(for: A.self)
            default:
                #expect(eventually { thread.all.count == 1 } && comesToRest(Set(thread.all)))
                bIsMade.open()
                #expect(eventually { thread.all.count == 2 } && comesToRest(Set(thread.all.suffix(1))))
                aIsMade.open()
            }
        }
        #expect(eventually { said.all == ["found"] })
    }

    @Test("are resolved by eight threads at once, and all see one instance")
    func threads() {
        for _ in 0..<200 {
            let (locator, made) = (ServiceLocator(), Counter())
            locator.add {
                Register(.unique) { () -> Console in
                    made.add()
                    return Console()
                }
                Register((any Printer).self) { Console() }
            }
            let (unique, each) = (Injected<Console>(in: locator), Injected<any Printer>(in: locator))
            let seen = Log<ObjectIdentifier>()
            onThreads(8) { _ in
                for _ in 0..<20 { seen.note(ObjectIdentifier(unique())) }
                seen.note(ObjectIdentifier(locator.module(for: Console.self)))
                if each().name != "console" { seen.note(ObjectIdentifier(locator)) }
            }
            #expect(made.count == 1)
            #expect(Set(seen.all).count == 1)
        }
    }

    actor Mailroom {
        @Inject var printer: any Printer
        func print() -> String { printer.name }
    }

    @MainActor final class Screen {
        @Inject var printer: any Printer
    }

    final class Plain: Sendable {
        let printer = Injected<any Printer>()
    }

    final class Unchecked: @unchecked Sendable {
        @Inject((any Printer).self) var printer
        @Inject(name: "spare") var spare: any Printer
    }

    @Test("are injected in actors, in main-actor and in Sendable classes")
    func everywhere() async {
        ServiceLocator.shared.add {
            Register((any Printer).self) { Console() }
            Register((any Printer).self, name: "spare") { Stub() }
        }
        #expect(await Mailroom().print() == "console")
        #expect(await Screen().printer.name == "console")
        #expect(Plain().printer().name == "console")
        #expect(Unchecked().printer.name == "console" && Unchecked().spare.name == "stub")
    }

    @Test("and what they were injected into are let go of")
    func memory() {
        let census = Census()
        let locator = ServiceLocator()
        locator.add { Register(.unique) { census.newborn() } }
        do {
            let injected = Injected<Tracked>(in: locator)
            injected().touch()
        }
        #expect(census.alive == 1)
        locator.removeAll()
        #expect(census.alive == 0)
        // Two threads resolve it at once, and one has made it in vain.
        let meeting = Meeting(of: 2)
        locator.add {
            Register(.new) { () -> Tracked in
                #expect(meeting.attend())
                return census.newborn()
            }
        }
        do {
            let injected = Injected<Tracked>(in: locator)
            onThreads(2) { _ in injected().touch() }
            #expect(census.alive == 1)
        }
        #expect(eventually { census.alive == 0 })
    }
}
