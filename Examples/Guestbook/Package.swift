// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "guestbook",
    dependencies: [.package(name: "overdrive", path: "../..")],
    targets: [
        .executableTarget(name: "guestbook", dependencies: [.product(name: "OverdriveApp", package: "overdrive")]),
        .testTarget(name: "GuestbookTests", dependencies: ["guestbook"]),
    ],
    swiftLanguageModes: [.v6]
)
