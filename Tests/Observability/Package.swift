// swift-tools-version: 6.2
import PackageDescription

// A user's package: it depends on Overdrive with the traits, and on swift-metrics and swift-log as every server does.
let package = Package(
    name: "observability-tests",
    dependencies: [
        .package(name: "overdrive", path: "../..", traits: ["Logging", "Metrics"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        .testTarget(
            name: "BridgeTests",
            dependencies: [
                .product(name: "OverdriveLogging", package: "overdrive"),
                .product(name: "OverdriveMetrics", package: "overdrive"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        .executableTarget(
            name: "observed",
            dependencies: [
                .product(name: "OverdriveLogging", package: "overdrive"),
                .product(name: "OverdriveMetrics", package: "overdrive"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            path: "Example"),
    ],
    swiftLanguageModes: [.v6]
)
