import Testing

@testable import SuiteKit

@Suite struct OracleTests {
    @Test func publishedValues() {
        #expect(Oracle.fib(39) == 63_245_986)
        #expect(Oracle.queens(8).solutions == 92)
        #expect(Oracle.queens(10).solutions == 724)
    }
}
