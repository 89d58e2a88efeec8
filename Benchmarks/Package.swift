// swift-tools-version: 6.2
import PackageDescription

// A package of its own: what it depends on reaches no user of Overdrive.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A program that answers for one scheduler. One module each: the optimiser merges functions of the same
/// shape within a module, which would make one contender pay for another's presence.
func contender(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: "contender-\(name)",
        dependencies: ["BenchmarkKit", "CWorkloads"] + dependencies,
        swiftSettings: settings
    )
}

let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "overdrive", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(name: "CWorkloads"),
        .target(name: "BenchmarkKit", dependencies: ["CWorkloads"], swiftSettings: settings),
        contender("serial"),
        contender("overdrive", [.product(name: "Overdrive", package: "overdrive")]),
        contender("dispatch"),
        contender("operations"),
        contender("concurrency"),
        contender("nio", [.product(name: "NIOPosix", package: "swift-nio")]),
        contender("threads"),
        .executableTarget(
            name: "parallel-serial", dependencies: [.product(name: "OverdriveCore", package: "overdrive")],
            swiftSettings: settings),
        .target(name: "SuiteKit", dependencies: ["BenchmarkKit", "CWorkloads"], swiftSettings: settings),
        .target(name: "Simulation", swiftSettings: settings),
        .executableTarget(
            name: "suite",
            dependencies: ["Simulation", "SuiteKit", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: settings
        ),
        .executableTarget(name: "counts", dependencies: ["SuiteKit"], swiftSettings: settings),
        .testTarget(name: "SuiteTests", dependencies: ["Simulation", "SuiteKit"], exclude: ["Fixtures"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
