/// Something that Overdrive promises without a comparison.
struct Fact: Sendable {
    let name: String
    let value: Double
    let unit: String
    /// The most that was promised.
    let bar: Double

    var isMet: Bool { value <= bar }
}
