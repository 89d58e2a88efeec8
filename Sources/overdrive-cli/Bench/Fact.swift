/// A measurement of Overdrive alone, with a bar.
struct Fact: Sendable {
    let name: String
    let value: Double
    let unit: String
    /// The largest permitted value.
    let bar: Double

    var isMet: Bool { value <= bar }
}
