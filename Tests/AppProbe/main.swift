// app-probe MODE [ARGUMENT…] — a process for the tests of OverdriveApp to start, signal and look at, and for measuring.
import Glibc

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "storm": Storm.run(seed: number(1), isStuck: arguments.contains("stuck"), folder: word(2))
case "service": Scenes.service()
case "fail": Scenes.fail()
case "limit": Scenes.limit()
case "stuck": Scenes.stuck()
case "busy-stop": Scenes.busyStop()
case "slow-stop": Scenes.slowStop()
case "exit-in-main": Scenes.exitInMain()
case "exit-in-async": Scenes.exitInAsync()
case "exit-in-closure": Scenes.exitInClosure()
case "exit-beside-stuck": Scenes.exitBesideStuck()
case "slow-boot": Scenes.slowBoot()
case "claimed": Scenes.claimed()
case "claimed-by-descriptor": Scenes.claimedByDescriptor()
case "main-queue": Scenes.mainQueue()
case "no-provider": Scenes.throwing()
case "closures": Scenes.closures()
case "async-main": await Scenes.asyncMain()
case "boot": Measure.boot(tasks: number(1), rounds: number(2))
case "inject": Measure.inject()
default:
    print("app-probe: unknown mode; Tests/AppProbe/main.swift lists them")
    exit(64)
}

func word(_ index: Int) -> String? { arguments.dropFirst(index).first }

func number(_ index: Int) -> Int {
    guard let number = word(index).flatMap({ Int($0) }) else {
        print("app-probe: argument \(index) is to be a number")
        exit(64)
    }
    return number
}
