// swift-tools-version: 6.2
import PackageDescription

/// What only the `overdrive` command needs stands behind this trait, so that a client of the
/// libraries resolves, fetches and builds nothing but Overdrive itself.
let command: TargetDependencyCondition? = .when(traits: ["CLI"])
/// The same for who has services of swift-service-lifecycle.
let lifecycle: TargetDependencyCondition? = .when(traits: ["ServiceLifecycle"])
/// And for who has a backend of swift-metrics, or of swift-log.
let metrics: TargetDependencyCondition? = .when(traits: ["Metrics"])
let logging: TargetDependencyCondition? = .when(traits: ["Logging"])

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For what others build upon: each use of what the compiler cannot vouch for is marked where it stands.
let librarySettings: [SwiftSetting] = swiftSettings + [.strictMemorySafety()]

let package = Package(
    name: "overdrive",
    products: [
        .library(name: "Overdrive", targets: ["Overdrive"]),
        .library(name: "OverdriveApp", targets: ["OverdriveApp"]),
        .library(name: "OverdriveCore", targets: ["OverdriveCore"]),
        .library(name: "OverdriveLogging", targets: ["OverdriveLogging"]),
        .library(name: "OverdriveMetrics", targets: ["OverdriveMetrics"]),
        .library(name: "OverdriveServiceLifecycle", targets: ["OverdriveServiceLifecycle"]),
        .library(name: "OverdriveTerminal", targets: ["OverdriveTerminal"]),
        .library(name: "OverdriveBatch", targets: ["OverdriveBatch"]),
        .library(name: "OverdriveGlobal", targets: ["OverdriveGlobal"]),
        .library(name: "overdrive-global", type: .dynamic, targets: ["OverdriveGlobal"]),
        .library(name: "OverdriveDispatch", targets: ["OverdriveDispatch"]),
        .library(name: "OverdriveTesting", targets: ["OverdriveTesting"]),
        .library(name: "CScheduler", targets: ["CScheduler"]),
        .executable(name: "overdrive", targets: ["overdrive-cli"]),
    ],
    traits: [
        .trait(name: "CLI", description: "The `overdrive` command, with ArgumentParser, libcrypto and libxxhash."),
        .trait(
            name: "ServiceLifecycle",
            description: "The product OverdriveServiceLifecycle, with swift-service-lifecycle and swift-log."),
        .trait(name: "Metrics", description: "The product OverdriveMetrics, with swift-metrics."),
        .trait(name: "Logging", description: "The product OverdriveLogging, with swift-log."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CUrcu",
            path: "CScheduler/system/urcu",
            pkgConfig: "liburcu-memb",
            providers: [.apt(["liburcu-dev"])]
        ),
        .systemLibrary(
            name: "CNuma",
            path: "CScheduler/system/numa",
            pkgConfig: "numa",
            providers: [.apt(["libnuma-dev"])]
        ),
        .systemLibrary(
            name: "CFileReading",
            path: "Sources/overdrive-cli/system"
        ),
        .target(
            name: "CCommandSystem",
            path: "Sources/overdrive-cli/native",
            cSettings: [.define("_GNU_SOURCE")]
        ),
        .systemLibrary(
            name: "CCrypto",
            path: "Sources/overdrive-cli/crypto",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CXXHash",
            path: "Sources/overdrive-cli/xxhash",
            pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"])]
        ),
        .target(
            name: "CScheduler",
            dependencies: ["CNuma", "CUrcu"],
            path: "CScheduler",
            exclude: ["docs", "system"],
            publicHeadersPath: "include",
            cSettings: [
                .headerSearchPath("."),
                .define("_GNU_SOURCE"),
                .define("NDEBUG", .when(configuration: .release)),
            ]
        ),
        .target(
            name: "OverdriveCore",
            dependencies: ["CScheduler"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "Overdrive",
            dependencies: ["OverdriveCore"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveGlobal",
            dependencies: ["OverdriveCore"],
            exclude: ["preload"],
            swiftSettings: librarySettings
        ),
        .systemLibrary(
            name: "CProcessWatching",
            path: "Sources/OverdriveDispatch/system"
        ),
        .target(
            name: "OverdriveDispatch",
            dependencies: ["CProcessWatching", "OverdriveCore"],
            exclude: ["system"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveTesting",
            dependencies: ["OverdriveCore"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveTerminal",
            dependencies: ["OverdriveCore"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveBatch",
            dependencies: ["OverdriveCore", "OverdriveTerminal"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveApp",
            dependencies: ["Overdrive"],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveLogging",
            dependencies: ["Overdrive", .product(name: "Logging", package: "swift-log", condition: logging)],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveMetrics",
            dependencies: ["OverdriveCore", .product(name: "Metrics", package: "swift-metrics", condition: metrics)],
            swiftSettings: librarySettings
        ),
        .target(
            name: "OverdriveServiceLifecycle",
            dependencies: [
                "OverdriveApp",
                .product(name: "Logging", package: "swift-log", condition: lifecycle),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: lifecycle),
            ],
            swiftSettings: librarySettings
        ),
        .executableTarget(
            name: "overdrive-cli",
            dependencies: [
                "CCommandSystem",
                .target(name: "CCrypto", condition: command),
                "CFileReading",
                "CScheduler",
                .target(name: "CXXHash", condition: command),
                "OverdriveBatch",
                "OverdriveCore",
                "OverdriveTerminal",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: command),
            ],
            exclude: ["crypto", "native", "system", "xxhash"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TestSupport",
            dependencies: ["OverdriveCore"],
            path: "Tests/TestSupport",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "app-probe",
            dependencies: ["OverdriveApp"],
            path: "Tests/AppProbe",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveAppTests",
            dependencies: ["OverdriveApp", "TestSupport", "app-probe"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveCoreTests",
            dependencies: ["OverdriveCore", "OverdriveTerminal", "TestSupport"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["Overdrive", "OverdriveCore", "OverdriveDispatch", "TestSupport"],
            path: "Tests/Conformance",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveTests",
            dependencies: ["Overdrive", "TestSupport"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveDispatchTests",
            dependencies: ["OverdriveDispatch", "TestSupport", "main-probe"],
            exclude: ["README.md"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "main-probe",
            dependencies: ["OverdriveDispatch"],
            path: "Tests/MainProbe",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveTestingTests",
            dependencies: ["OverdriveCore", "OverdriveTesting"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "OverdriveBatchTests",
            dependencies: ["OverdriveBatch", "OverdriveCore"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CLITests",
            dependencies: ["OverdriveCore", "OverdriveTerminal", "TestSupport", "overdrive-cli"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "PackageTests",
            dependencies: ["global-probe", "plain-probe"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "ProbeWork",
            path: "Tests/GlobalProbe/Work",
            swiftSettings: swiftSettings
        ),
        .target(name: "ProbeInitialiser", path: "Tests/GlobalProbe/Initialiser"),
        .executableTarget(
            name: "global-probe",
            dependencies: ["OverdriveCore", "OverdriveGlobal", "ProbeInitialiser", "ProbeWork"],
            path: "Tests/GlobalProbe/Installed",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "plain-probe",
            dependencies: ["ProbeWork"],
            path: "Tests/GlobalProbe/Plain",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "floor-probe",
            dependencies: ["ProbeWork"],
            path: "Tests/GlobalProbe/Floor",
            swiftSettings: swiftSettings
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
