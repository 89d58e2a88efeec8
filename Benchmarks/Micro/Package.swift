// swift-tools-version: 6.2
import PackageDescription

// Single paths for `swift package benchmark`. A package of its own beside the suite's, because ordo-one's harness
// brings a build plugin and twenty packages that nothing else here waits for.

let package = Package(
    name: "micro",
    dependencies: [
        .package(name: "overdrive", path: "../.."),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Paths",
            dependencies: [
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "OverdriveCore", package: "overdrive"),
            ],
            path: "Benchmarks/Paths",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        )
    ],
    swiftLanguageModes: [.v6]
)
