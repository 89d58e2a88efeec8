import Testing

@Suite("A client of the library products")
struct ClientTests {
    @Test("builds")
    func builds() {}
}
