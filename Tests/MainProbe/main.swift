// A program whose main thread belongs to the main queue: it does all that a program does with that queue, in turns, and ends
// itself from there.
import Foundation
import OverdriveDispatch

typealias DispatchQueue = OverdriveDispatch.DispatchQueue
typealias DispatchGroup = OverdriveDispatch.DispatchGroup
typealias DispatchSource = OverdriveDispatch.DispatchSource
typealias DispatchSourceTimer = OverdriveDispatch.DispatchSourceTimer
typealias DispatchSpecificKey<T> = OverdriveDispatch.DispatchSpecificKey<T>
typealias BlockOperation = OverdriveDispatch.BlockOperation
typealias OperationQueue = OverdriveDispatch.OperationQueue

func dispatchPrecondition(condition: @autoclosure () -> OverdriveDispatch.DispatchPredicate) {
    OverdriveDispatch.dispatchPrecondition(condition: condition())
}

@Sendable func say(_ step: String) {
    dispatchPrecondition(condition: .onQueue(.main))
    FileHandle.standardOutput.write(Data((step + "\n").utf8))
}

let key = DispatchSpecificKey<Int>()
DispatchQueue.main.setSpecific(key: key, value: 42)

let worker = DispatchQueue(label: "worker")
let timer: any DispatchSourceTimer = DispatchSource.makeTimerSource(queue: .main)

@Sendable func end() {
    OperationQueue.main.addOperation {
        say("operation \(OperationQueue.current === OperationQueue.main)")
        exit(7)
    }
}

timer.setEventHandler {
    say("timer")
    timer.cancel()
}
timer.setCancelHandler {
    say("cancelled")
    end()
}

DispatchQueue.main.async { say("first") }
DispatchQueue.main.async { say("second") }
worker.async {
    dispatchPrecondition(condition: .notOnQueue(.main))
    DispatchQueue.main.sync { say("sync \(DispatchQueue.getSpecific(key: key) ?? 0)") }
    let group = DispatchGroup()
    DispatchQueue.main.async(group: group) { say("counted") }
    group.wait()
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(1)) {
        say("after")
        timer.schedule(deadline: .now())
        timer.activate()
    }
}
OverdriveDispatch.dispatchMain()
