import Glibc
import OverdriveApp

/// What the command line says.
struct Arguments {
    var port: UInt16 = 8080
    var folder = "guestbook-data"
    var explain: String?
    var migrationSeconds = 1.0

    init(_ words: [String]) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { Arguments.refuse("\(word) wants a value") }
            switch word {
            case "--port":
                guard let port = UInt16(value) else { Arguments.refuse("--port is \"\(value)\": choose 0 to 65535") }
                self.port = port
            case "--folder": folder = value
            case "--explain": explain = value
            case "--migration-seconds":
                guard let seconds = Double(value), seconds >= 0 else {
                    Arguments.refuse("--migration-seconds is \"\(value)\": choose 0 or more")
                }
                migrationSeconds = seconds
            default: Arguments.refuse("\(word) is no argument: see README.md")
            }
        }
    }

    static func refuse(_ sentence: String) -> Never {
        let bytes = Array("guestbook: \(sentence)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
        exit(64)
    }
}

/// Says a line at once, also where the output is a file.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// The entries on disk.
struct StorageServices: ServiceProvider {
    let journal: Journal
    let open: AppTask
    let migrate: AppTask

    init(_ arguments: Arguments) {
        let journal = Journal(folder: arguments.folder)
        self.journal = journal
        open = AppTask("journal") { try journal.open() } stop: { try journal.close() }
        let seconds = arguments.migrationSeconds
        migrate = AppTask("migration", dependencies: [open]) { try await journal.migrate(taking: seconds) }
    }

    func modules() -> [Register] { [Register(.unique) { [journal] in journal }] }
    var appTasks: [AppTask] { [open, migrate] }
}

/// What the world sees.
struct WebServices: ServiceProvider {
    let greeter: Greeter
    let server: Server

    init(_ arguments: Arguments, after migration: AppTask) {
        greeter = Greeter(folder: arguments.folder)
        server = Server(port: arguments.port)
        server.addDependency(migration)
        server.addDependency(greeter)
    }

    func modules() -> [Register] { [Register { [greeter] in greeter }] }
    var appTasks: [AppTask] { [greeter, server] }
}

let arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
let storage = StorageServices(arguments)
let web = WebServices(arguments, after: storage.migrate)
var options = AppOptions()
options.explanationFolder = arguments.explain
AppTasks.run(serviceProviders: [storage, web], options: options) { [server = web.server] in
    say("guestbook: ready on port \(server.port); Ctrl-C ends it")
}
