import Testing
@testable import overdrive_cli

@Suite("overdrive")
struct CommandTests {
    @Test("is built")
    func isBuilt() {}
}
