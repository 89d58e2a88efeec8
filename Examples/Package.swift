// swift-tools-version: 6.2
import PackageDescription

// Programs as a user writes them: on the libraries alone, with C libraries from Debian
// (apt-get install libturbojpeg0-dev zlib1g-dev).
let package = Package(
    name: "examples",
    dependencies: [.package(name: "overdrive", path: "..")],
    targets: [
        .systemLibrary(
            name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .executableTarget(
            name: "thumbnails",
            dependencies: ["CTurboJPEG", .product(name: "OverdriveBatch", package: "overdrive")]),
        .executableTarget(
            name: "wordcount",
            dependencies: ["CZlib", .product(name: "OverdriveBatch", package: "overdrive")]),
        .executableTarget(
            name: "crashing", dependencies: [.product(name: "OverdriveBatch", package: "overdrive")]),
        .executableTarget(
            name: "empty-items", dependencies: [.product(name: "OverdriveBatch", package: "overdrive")]),
        .executableTarget(
            name: "readme", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "histogram", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "build-graph", dependencies: [.product(name: "Overdrive", package: "overdrive")]),
        .executableTarget(
            name: "tinymake", dependencies: [.product(name: "Overdrive", package: "overdrive")]),
        .executableTarget(
            name: "blocking-calls", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "interrupt", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "rows", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "heartbeat", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "ledger", dependencies: [.product(name: "OverdriveCore", package: "overdrive")]),
        .executableTarget(
            name: "fastest", dependencies: [.product(name: "Overdrive", package: "overdrive")]),
        .executableTarget(
            name: "figures",
            dependencies: [
                .product(name: "Overdrive", package: "overdrive"), .product(name: "OverdriveCore", package: "overdrive"),
                .product(name: "OverdriveDispatch", package: "overdrive"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
