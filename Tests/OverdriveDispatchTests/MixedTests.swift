import Dispatch
import Foundation
import FoundationNetworking
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    @Suite("Programs with queues of both kinds")
    struct Mixed {
        @Test("a serial queue and what stands for it exclude each other, and each is on the queue")
        func standIn() {
            let queue = DispatchQueue(label: "shared")
            let theirs = queue.underlying
            let crowd = Crowd()
            let group = DispatchGroup()
            let balance = Box(0)
            for _ in 0..<300 {
                group.enter()
                theirs.async {
                    dispatchPrecondition(condition: .onQueue(queue))
                    crowd.visit { balance.value += 1 }
                    group.leave()
                }
                queue.async(group: group) { crowd.visit { balance.value += 1 } }
                queue.sync { crowd.visit { balance.value += 1 } }
            }
            queue.async(group: group, execute: DispatchWorkItem { crowd.visit { balance.value += 1 } })
            group.wait()
            theirs.sync { queue.sync { balance.value += 1 } }  // in its turn already
            #expect(crowd.most == 1)
            #expect(balance.value == 902)
            #expect(queue.underlying === theirs)
            #expect(DispatchQueue(label: "quiet", qos: .utility).underlying.qos == .utility)
            #expect(DispatchQueue.main.underlying.label == "com.apple.main-thread")
        }

        @Test("whichever way a closure comes, it takes the turn of what stands for its queue, too")
        func everyWay() {
            let (nothing, ended) = (DispatchGroup(), DispatchWorkItem {})
            ended.perform()
            let ways: [(DispatchQueue, @escaping @Sendable () -> Void) -> Void] = [
                { queue, body in nothing.notify(queue: queue, execute: body) },
                { queue, body in nothing.notify(queue: queue, work: DispatchWorkItem(block: body)) },
                { queue, body in ended.notify(queue: queue, execute: body) },
                { queue, body in ended.notify(queue: queue, execute: DispatchWorkItem(block: body)) },
                { queue, body in queue.async(execute: DispatchWorkItem(block: body)) },
                { queue, body in queue.asyncAfter(deadline: .now(), execute: body) },
                { queue, body in queue.asyncAfter(deadline: .now(), execute: DispatchWorkItem(block: body)) },
                { queue, body in queue.asyncAfter(wallDeadline: .now(), execute: body) },
            ]
            for way in ways {
                let (queue, gate, done) = (DispatchQueue(label: "shared"), Gate(), DispatchSemaphore(value: 0))
                queue.underlying.async { gate.pass() }
                #expect(eventually { gate.arrivals == 1 })
                way(queue) { done.signal() }
                let isEarly = done.wait(timeout: .now() + .milliseconds(20)) == .success
                #expect(!isEarly)
                gate.open()
                if !isEarly { done.wait() }
            }
        }

        @Test("a barrier runs beside nothing that runs on what stands for its queue")
        func barrier() {
            let queue = DispatchQueue(label: "shared", attributes: .concurrent)
            let (theirs, crowd, group, beside) = (queue.underlying, Crowd(), DispatchGroup(), Box(0))
            let (nothing, ended) = (DispatchGroup(), DispatchWorkItem {})
            ended.perform()
            for round in 0..<200 {
                for _ in 0..<2 { group.enter() }
                theirs.async {
                    crowd.visit { usleep(100) }
                    group.leave()
                }
                let item = DispatchWorkItem(flags: .barrier) {
                    beside.value += crowd.now
                    usleep(200)
                    beside.value += crowd.now
                    group.leave()
                }
                switch round % 4 {
                case 0: queue.async(flags: .barrier) { item.perform() }
                case 1: queue.async(execute: item)
                case 2: nothing.notify(queue: queue, work: item)
                default: ended.notify(queue: queue, execute: item)
                }
                group.wait()  // or the blocks all run before the second barrier
            }
            #expect(beside.value == 0)
            let meeting = Meeting(of: 2)
            for _ in 0..<2 {
                group.enter()
                theirs.async {
                    #expect(meeting.attend())
                    group.leave()
                }
            }
            group.wait()
        }

        @Test("a queue on somebody's dispatch queue keeps that one's order")
        func onTheirs() {
            let theirs = Dispatch.DispatchQueue(label: "theirs")
            let queue = DispatchQueue(underlying: theirs)
            let crowd = Crowd()
            let group = DispatchGroup()
            for _ in 0..<100 {
                queue.async(group: group) { crowd.visit() }
                theirs.async { crowd.visit() }
            }
            group.wait()
            queue.sync {}
            #expect(crowd.most == 1)
            #expect(queue.underlying === theirs)
        }

        /// The pattern for URLSession, whose delegate queue is Foundation's.
        @Test("a session's answers come on our queue")
        func session() {
            let queue = DispatchQueue(label: "answers")
            let delegates = Foundation.OperationQueue()
            delegates.underlyingQueue = queue.underlying
            let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: delegates)
            let answered = DispatchSemaphore(value: 0)
            // Nobody listens there: the answer is an error.
            let url = URL(string: "http://127.0.0.1:9/")!
            session.dataTask(with: url) { _, _, error in
                dispatchPrecondition(condition: .onQueue(queue))
                #expect(error != nil)
                answered.signal()
            }.resume()
            answered.wait()
            session.invalidateAndCancel()
        }
    }
}
