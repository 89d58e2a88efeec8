import Foundation
import Testing

/// What clients inline, as the optimiser makes it: the other tests are built without.
@Suite("What clients inline")
struct InlinedTests {
    @Test("of a resolved @Inject does not outlive the wrapper, where this goes at once")
    func injectedFromTemporary() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-inlined-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let locator = """
            public final class ServiceLocator: Sendable {
                public static let shared = ServiceLocator()
                let makers: [@Sendable () -> any Sendable] = [{ Service() }]
                func module<T: Sendable>(for type: T.Type, name: String?, file: StaticString, line: UInt) -> T {
                    makers[0]() as! T
                }
            }
            public protocol Working: Sendable { func work(_ sum: Int) -> Int }
            public final class Service: Working, @unchecked Sendable {
                var number = 1
                @inline(never) public func work(_ sum: Int) -> Int { sum &+ number }
            }
            """
        let client = """
            import Services

            final class Variable: @unchecked Sendable { @Inject var service: Service }
            final class Existential: @unchecked Sendable { @Inject var service: any Working }
            final class Constant: Sendable { let service = Injected<Service>() }

            @inline(never) func variable() -> Variable { let user = Variable(); _ = user.service; return user }
            @inline(never) func existential() -> Existential { let user = Existential(); _ = user.service; return user }
            @inline(never) func constant() -> Constant { let user = Constant(); _ = user.service.value; return user }

            var sum = 0
            for _ in 0..<100 {
                sum = variable().service.work(sum)
                sum = existential().service.work(sum)
                sum = constant().service.value.work(sum)
                sum = constant().service().work(sum)
                sum = constant().service.withValue { $0.work(sum) }
            }
            print(sum)
            """
        try locator.write(to: folder.appendingPathComponent("Locator.swift"), atomically: true, encoding: .utf8)
        try client.write(to: folder.appendingPathComponent("main.swift"), atomically: true, encoding: .utf8)
        let inject = ClientTests.package.appendingPathComponent("Sources/OverdriveApp/Services/Inject.swift").path
        let options = ["swiftc", "-O", "-swift-version", "6", "-sanitize=address"]
        let library = try Tool(
            "/usr/bin/env", options + ["-parse-as-library", "-module-name", "Services", "-emit-module", "-emit-library", "-static"]
                + ["-enable-upcoming-feature", "InternalImportsByDefault", "-o", "libServices.a", "Locator.swift", inject]
        ).run(in: folder)
        try #require(library.status == 0, "\(library.output)")
        let program = try Tool(
            "/usr/bin/env", options + ["-I.", "-L.", "-lServices", "main.swift", "-o", "program"]).run(in: folder)
        try #require(program.status == 0, "\(program.output)")
        let outcome = try Tool(folder.appendingPathComponent("program").path, []).run(in: folder)
        #expect(outcome.status == 0 && outcome.output == "500\n", "\(outcome.output.prefix(2000))")
    }
}
