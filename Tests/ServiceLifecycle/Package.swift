// swift-tools-version: 6.2
import PackageDescription

// A user's package: it depends on Overdrive with the trait, and on swift-service-lifecycle as every server does.
let package = Package(
    name: "service-lifecycle-tests",
    dependencies: [
        .package(name: "overdrive", path: "../..", traits: ["ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .testTarget(
            name: "BridgeTests",
            dependencies: [
                .product(name: "OverdriveServiceLifecycle", package: "overdrive"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
