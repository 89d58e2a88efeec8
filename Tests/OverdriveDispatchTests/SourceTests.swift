import Foundation
import OverdriveCore
import TestSupport
import Testing

@testable import OverdriveDispatch

extension DropIn {
    @Suite("DispatchSource")
    struct Sources {
        private let queue = DispatchQueue(label: "sources")

        @Test("a timer ticks, is set anew, and calls its cancel handler last")
        func timer() {
            let timer = DispatchSource.makeTimerSource(queue: queue)
            let log = Log<String>()
            let over = DispatchSemaphore(value: 0)
            let ticks = Box(0)
            timer.setRegistrationHandler { log.note("registered") }
            timer.setEventHandler { [unowned timer] in
                ticks.change { $0 += 1 }
                log.note("tick")
                #expect(timer.data >= 1)
                if ticks.value == 3 { timer.cancel() }
            }
            timer.setCancelHandler {
                log.note("cancelled")
                over.signal()
            }
            timer.schedule(deadline: .distantFuture)
            timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5), leeway: .milliseconds(1))
            timer.activate()
            timer.activate()
            over.wait()
            #expect(timer.isCancelled)
            #expect(log.all == ["registered", "tick", "tick", "tick", "cancelled"])
        }

        @Test("a timer that begins in the past has been due once for each interval since, whatever its unit and its clock")
        func units() {
            let seen = Log<UInt>()
            let told = DispatchSemaphore(value: 0)
            func check(_ schedule: (any DispatchSourceTimer) -> Void) {
                let timer = DispatchSource.makeTimerSource(queue: queue)
                timer.setEventHandler { [unowned timer] in
                    seen.note(timer.data)
                    told.signal()
                }
                schedule(timer)
                timer.activate()
                told.wait()
                timer.cancel()
            }
            // Ten intervals and a half: due eleven times.
            let ago = DispatchTimeInterval.seconds(-378)
            let intervals: [DispatchTimeInterval] = [.seconds(36), .milliseconds(36_000), .microseconds(36_000_000), .nanoseconds(36_000_000_000)]
            for interval in intervals {
                check { $0.schedule(deadline: .now() + ago, repeating: interval) }
                check { $0.schedule(wallDeadline: .now() + ago, repeating: interval) }
            }
            check { $0.schedule(deadline: .now() + ago, repeating: 36.0) }
            check { $0.schedule(wallDeadline: .now() + ago, repeating: 36.0) }
            #expect(seen.all == Array(repeating: 11, count: 10))
        }

        @Test("handlers may be items, are called on the queue that the source was given last, and as they were asked for")
        func items() {
            let other = DispatchQueue(label: "other", attributes: .concurrent)
            let (log, over) = (Log<String>(), DispatchSemaphore(value: 0))
            func handler(_ name: String) -> DispatchWorkItem {
                DispatchWorkItem(qos: .userInitiated) {
                    dispatchPrecondition(condition: .onQueue(other))
                    log.note("\(name) \(TaskQueue.QoS.current == .userInitiated)")
                    over.signal()
                }
            }
            let source = DispatchSource.makeUserDataAddSource(queue: queue)
            source.setRegistrationHandler(handler: handler("registered"))
            source.setEventHandler(handler: handler("told"))
            source.setCancelHandler(handler: handler("cancelled"))
            (source as? DispatchObject)?.setTarget(queue: other)
            source.activate()
            over.wait()
            source.add(data: 1)
            over.wait()
            source.cancel()
            over.wait()
            #expect(log.all == ["registered true", "told true", "cancelled true"])
        }

        @Test("a timer is not early, and a leeway does not make it later than that")
        func deadline() {
            let due = DispatchTime.now() + .milliseconds(40)
            let fired = Box<DispatchTime?>(nil)
            let told = DispatchSemaphore(value: 0)
            let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            timer.setEventHandler {
                fired.value = .now()
                told.signal()
            }
            timer.schedule(deadline: due, repeating: 1000.0, leeway: .milliseconds(30))
            timer.resume()
            told.wait()
            #expect(fired.value.map { $0 >= due } == true)
            timer.cancel()
        }

        @Test("what is missed while a timer is suspended comes as one event that counts it")
        func suspended() {
            let timer = DispatchSource.makeTimerSource(queue: queue)
            let counts = Log<UInt>()
            let told = DispatchSemaphore(value: 0)
            timer.setEventHandler { [unowned timer] in
                counts.note(timer.data)
                told.signal()
            }
            timer.schedule(deadline: .now(), repeating: .milliseconds(2))
            timer.activate()
            told.wait()
            timer.suspend()
            queue.sync {}
            while told.wait(timeout: .now()) == .success {}
            let before = counts.all.count
            #expect(told.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
            #expect(counts.all.count == before)
            timer.resume()
            told.wait()
            #expect(counts.all[before] >= 5)
            timer.cancel()
        }

        @Test("a timer that is set anew forgets what it has not told of its old times")
        func missedBeforeAnotherSchedule() {
            let (told, ticked) = (Box(0), DispatchSemaphore(value: 0))
            let timers = (0..<2).map { _ in DispatchSource.makeTimerSource(queue: queue) }
            timers[0].setEventHandler { told.change { $0 += 1 } }
            timers[1].setEventHandler { ticked.signal() }
            timers[0].schedule(deadline: .now(), repeating: .milliseconds(1))
            timers[0].activate()
            timers[0].suspend()
            queue.sync { told.value = 0 }
            // Where this one has ticked several times the other has, too, and told nobody.
            timers[1].schedule(deadline: .now(), repeating: .milliseconds(1))
            timers[1].activate()
            for _ in 0..<5 { ticked.wait() }
            timers[0].schedule(deadline: .distantFuture)
            timers[0].resume()
            for _ in 0..<2 { queue.sync {} }
            #expect(told.value == 0)
            for timer in timers { timer.cancel() }
        }

        @Test("times of the wall clock tell nothing any more once others have taken their place")
        func wallTimesReplaced() {
            let queue = DispatchQueue(label: "replaced")
            for _ in 0..<200 {
                let told = DispatchSemaphore(value: 0)
                let ticks = Box(0)
                let timer = DispatchSource.makeTimerSource(queue: queue)
                timer.setEventHandler {
                    ticks.change { $0 += 1 }
                    told.signal()
                }
                timer.schedule(wallDeadline: .now(), repeating: .microseconds(20))
                timer.activate()
                told.wait()
                timer.schedule(wallDeadline: .distantFuture)
                queue.sync {}
                let last = ticks.value
                // What libdispatch was about to tell comes before this.
                let later = DispatchSemaphore(value: 0)
                queue.asyncAfter(wallDeadline: .now()) { later.signal() }
                later.wait()
                #expect(ticks.value == last)
                timer.cancel()
            }
        }

        @Test("a one-shot timer later than the end never fires; one on the wall clock does")
        func oneShots() {
            let late = DispatchSource.makeTimerSource(queue: queue)
            late.setEventHandler { Issue.record("it was cancelled") }
            late.schedule(deadline: .now() + .seconds(600))
            late.activate()
            let told = DispatchSemaphore(value: 0)
            let wall = DispatchSource.makeTimerSource(queue: queue)
            wall.setEventHandler { told.signal() }
            wall.schedule(wallDeadline: .now() + .milliseconds(3), repeating: .milliseconds(3))
            wall.activate()
            told.wait()
            told.wait()
            wall.cancel()
            late.cancel()
        }

        @Test("an event that waits on the queue is not told behind suspend() or cancel()", arguments: [true, false])
        func heldBack(suspends: Bool) {
            let seen = Log<UInt>()
            let source = DispatchSource.makeUserDataAddSource(queue: queue)
            source.setEventHandler { [unowned source] in seen.note(source.data) }
            source.activate()
            queue.suspend()
            source.add(data: 1)
            if suspends { source.suspend() } else { source.cancel() }
            queue.resume()
            queue.sync {}
            #expect(seen.all == [])
            guard suspends else { return }
            source.add(data: 2)
            source.resume()
            queue.sync {}
            #expect(seen.all == [3])
            source.cancel()
        }

        @Test("a source stops when it is let go, and lets go of its handlers")
        func released() {
            let (census, cancels) = (Census(), Counter())
            let told = DispatchSemaphore(value: 0)
            do {
                let timer = DispatchSource.makeTimerSource(queue: queue)
                let tracked = census.newborn()
                timer.setEventHandler {
                    tracked.touch()
                    told.signal()
                }
                timer.setCancelHandler {
                    tracked.touch()
                    cancels.add()
                }
                timer.schedule(deadline: .now(), repeating: .milliseconds(1))
                timer.activate()
                told.wait()
            }
            // It was not cancelled.
            #expect(eventually { census.alive == 0 } && cancels.count == 0)
        }

        @Test("a source of a descriptor lets go of its handlers when it is let go, and closes nothing")
        func releasedReader() {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let census = Census()
            do {
                let (source, tracked) = (DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue), census.newborn())
                source.setEventHandler { tracked.touch() }
                source.activate()
            }
            #expect(eventually { census.alive == 0 })
            for end in ends { #expect(close(end) == 0) }
        }

        @Test("a source that is kept lets go of its registration handler once that was called, and of all when it is cancelled")
        func keptSource() {
            let (once, others) = (Census(), Census())
            let source = DispatchSource.makeUserDataAddSource(queue: queue)
            func touching(_ tracked: Tracked) -> () -> Void { { tracked.touch() } }
            source.setRegistrationHandler(handler: touching(once.newborn()))
            source.setEventHandler(handler: touching(others.newborn()))
            source.setCancelHandler(handler: touching(others.newborn()))
            source.activate()
            #expect(eventually { once.alive == 0 } && others.alive == 2)
            source.cancel()
            #expect(eventually { others.alive == 0 } && source.isCancelled)
        }

        @Test("a cancel handler waits until the descriptor is watched no more")
        func cancelBehindWatch() {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let (theirs, cancels) = (Dispatch.DispatchQueue(label: "watching"), Counter())
            let watch = SourceWatch(Dispatch.DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: theirs), isLevel: true)
            let source = DispatchSource(SourceCore(on: queue, watch: watch))
            source.setCancelHandler { cancels.add() }
            source.activate()
            theirs.suspend()
            source.cancel()
            queue.sync {}
            #expect(cancels.count == 0)
            theirs.resume()
            #expect(eventually { cancels.count == 1 } && watch.isGone)
            for end in ends { close(end) }
        }

        @Test("what a watch tells while nobody may be told adds up")
        func countsBesideHandler() {
            let theirs = Dispatch.DispatchSource.makeUserDataAddSource(queue: Dispatch.DispatchQueue(label: "watching"))
            let (sum, gate) = (Counter(), Gate())
            let source = DispatchSource(SourceCore(on: queue, watch: SourceWatch(theirs)))
            source.setEventHandler { [unowned source] in
                gate.pass()
                sum.add(Int(source.data))
            }
            source.activate()
            for _ in 0..<100 {
                theirs.add(data: 1)
                usleep(100)  // Mostly each is an event of its own.
            }
            gate.open()
            #expect(eventually { sum.count == 100 })
            source.cancel()
        }

        @Test("user data adds up, is joined by bits and is replaced")
        func userData() {
            queue.suspend()
            let seen = Log<UInt>()
            let told = DispatchGroup()
            let add = DispatchSource.makeUserDataAddSource(queue: queue)
            let or = DispatchSource.makeUserDataOrSource(queue: queue)
            let replace = DispatchSource.makeUserDataReplaceSource(queue: queue)
            for source in [add, or, replace] as [any DispatchSourceProtocol] {
                told.enter()
                source.setEventHandler { [unowned source] in
                    seen.note(source.data)
                    told.leave()
                }
                source.activate()
            }
            add.add(data: 1)
            add.add(data: 4)
            or.or(data: 1)
            or.or(data: 5)
            replace.replace(data: 1)
            replace.replace(data: 9)
            add.add(data: 0)
            queue.resume()
            told.wait()
            #expect(seen.all == [5, 5, 9])
            for source in [add, or, replace] as [any DispatchSourceProtocol] { source.cancel() }
        }

        @Test("a descriptor is told once for what comes, and closed in the cancel handler")
        func reading() {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let reader = ends[0]
            let source = DispatchSource.makeReadSource(fileDescriptor: reader, queue: queue)
            let read = Box("")
            let got = DispatchSemaphore(value: 0)
            let closed = DispatchSemaphore(value: 0)
            source.setEventHandler { [unowned source] in
                dispatchPrecondition(condition: .onQueue(queue))
                var bytes = [UInt8](repeating: 0, count: Int(source.data))
                let count = Foundation.read(reader, &bytes, bytes.count)
                read.change { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
                got.signal()
            }
            source.setCancelHandler {
                close(reader)
                closed.signal()
            }
            source.activate()
            #expect(source.handle == UInt(reader))
            write(ends[1], "one", 3)
            got.wait()
            write(ends[1], " two", 4)
            got.wait()
            source.cancel()
            closed.wait()
            #expect(read.value == "one two")
            close(ends[1])
        }

        @Test("a descriptor that takes bytes is told")
        func writing() {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let told = DispatchSemaphore(value: 0)
            let source = DispatchSource.makeWriteSource(fileDescriptor: ends[1], queue: queue)
            source.setEventHandler { told.signal() }
            source.activate()
            told.wait()
            source.cancel()
            close(ends[0])
        }

        @Test("a signal and the end of a process are told")
        func signalsAndProcesses() throws {
            signal(SIGUSR2, SIG_IGN)
            let told = DispatchSemaphore(value: 0)
            let source = DispatchSource.makeSignalSource(signal: SIGUSR2, queue: queue)
            let registered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { registered.signal() }
            source.setEventHandler { told.signal() }
            source.activate()
            registered.wait()
            // libdispatch registers on its own thread: the first signal may come before that.
            while told.wait(timeout: .now() + .milliseconds(20)) == .timedOut { kill(getpid(), SIGUSR2) }
            source.cancel()
            let child = Process()
            child.executableURL = URL(fileURLWithPath: "/bin/sh")
            child.arguments = ["-c", "read line"]
            let pipe = Pipe()
            child.standardInput = pipe
            try child.run()
            let end = OverdriveDispatch.DispatchSource.makeProcessSource(
                identifier: child.processIdentifier, eventMask: .exit, queue: queue)
            let ended = DispatchSemaphore(value: 0)
            let descriptors = { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").filter { name in
                (try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8))?.contains("Pid:\t") == true
            }.count) ?? -1 }
            let before = descriptors()
            let data = Box(UInt(0))
            end.setEventHandler { [unowned end] in
                data.value = end.data
                ended.signal()
            }
            end.activate()
            #expect(end.handle == UInt(child.processIdentifier) && end.mask == DispatchSource.ProcessEvent.exit.rawValue)
            #expect(ended.wait(timeout: .now()) == .timedOut)
            try pipe.fileHandleForWriting.close()
            ended.wait()
            #expect(ended.wait(timeout: .now() + 0.05) == .timedOut)  // It ends once.
            end.cancel()
            #expect(data.value == DispatchSource.ProcessEvent.exit.rawValue)
            #expect(eventually { descriptors() < before || before == 0 })
            child.waitUntilExit()
            // One that is no more has ended.
            let gone = OverdriveDispatch.DispatchSource.makeProcessSource(
                identifier: child.processIdentifier, eventMask: .exit, queue: queue)
            gone.setEventHandler { ended.signal() }
            gone.activate()
            ended.wait()
            gone.cancel()
        }

        @Test("a channel writes and reads in its order, with handlers on our queue")
        func channels() throws {
            let path = NSTemporaryDirectory() + "overdrive-io-\(UUID().uuidString)"
            defer { unlink(path) }
            let done = DispatchGroup()
            let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
            #expect(descriptor >= 0)
            done.enter()
            let channel = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { error in
                #expect(error == 0)
                close(descriptor)
                done.leave()
            }
            let log = Log<String>()
            for word in ["one ", "two ", "three"] {
                done.enter()
                let data = Array(word.utf8).withUnsafeBytes { DispatchData(bytes: $0) }
                channel.write(offset: 0, data: data, queue: queue) { isDone, _, error in
                    dispatchPrecondition(condition: .onQueue(queue))
                    #expect(error == 0)
                    guard isDone else { return }
                    log.note(word)
                    done.leave()
                }
            }
            channel.close()
            done.wait()
            #expect(log.all == ["one ", "two ", "three"])
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "one two three")
            let file = try #require(
                DispatchIO(type: .random, path: path, oflag: O_RDONLY, mode: 0, queue: queue) { _ in })
            let text = Box("")
            done.enter()
            file.read(offset: 4, length: 3, queue: queue) { isDone, data, _ in
                if let data { text.change { $0 += String(decoding: data, as: UTF8.self) } }
                if isDone { done.leave() }
            }
            done.wait()
            #expect(text.value == "two")
            done.enter()
            let over = try #require(
                DispatchIO(type: .random, path: path, oflag: O_WRONLY, mode: 0, queue: queue) { _ in done.leave() })
            over.write(offset: 4, data: Array("TWO".utf8).withUnsafeBytes { DispatchData(bytes: $0) }, queue: queue) { _, _, _ in }
            over.close()
            done.wait()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "one TWO three")
            let (wide, crowd) = (DispatchQueue(label: "wide", attributes: .concurrent), Crowd())
            file.setLimit(highWater: 1)
            done.enter()
            file.read(offset: 0, length: 13, queue: wide) { isDone, _, _ in
                crowd.visit { usleep(1000) }
                if isDone { done.leave() }
            }
            done.wait()
            #expect(crowd.most == 1)
            file.close(flags: .stop)
        }

        @Test("bytes are read and written once without a channel; a channel knows its descriptor, keeps to its limits, and has barriers")
        func onceAndLimits() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (reads, writes) = (ends[0], ends[1])
            let (group, log) = (DispatchGroup(), Log<String>())
            group.enter()
            DispatchIO.write(toFileDescriptor: writes, data: Array("once".utf8).withUnsafeBytes { DispatchData(bytes: $0) }, runningHandlerOn: queue) {
                log.note("wrote \($1)")
                group.leave()
            }
            group.wait()
            group.enter()
            DispatchIO.read(fromFileDescriptor: reads, maxLength: 4, runningHandlerOn: queue) {
                log.note("\(String(decoding: $0, as: UTF8.self)) \($1)")
                group.leave()
            }
            group.wait()
            group.enter()
            DispatchIO.read(fromFileDescriptor: -1, maxLength: 4, runningHandlerOn: queue) {
                log.note("\($1)")
                group.leave()
            }
            group.wait()
            #expect(log.all == ["wrote 0", "once 0", "\(EBADF)"])
            group.enter()
            let channel = DispatchIO(type: .stream, fileDescriptor: reads, queue: queue) { _ in group.leave() }
            #expect(channel.fileDescriptor == reads)
            channel.setLimit(lowWater: 6)
            group.enter()
            channel.read(offset: 0, length: 12, queue: queue) { isDone, data, _ in
                if let data, data.count > 0 { log.note(String(decoding: data, as: UTF8.self)) }
                if isDone { group.leave() }
            }
            channel.barrier { log.note("barrier") }
            // Each piece is there before the next is written.
            for piece in ["abc", "defghi", "jkl"] {
                #expect(!log.all.contains("barrier"))
                write(writes, piece, piece.utf8.count)
                var left: Int32 = 1
                #expect(eventually { ioctl(reads, UInt(FIONREAD), &left) == 0 && left == 0 })
            }
            channel.close()
            group.wait()
            #expect(eventually { log.all.contains("barrier") })
            #expect(log.all.filter { $0 != "barrier" }.suffix(2) == ["abcdefghi", "jkl"], "\(log.all)")
            // What waits for more is told when the interval is over.
            let patient = DispatchIO(type: .stream, fileDescriptor: reads, queue: queue) { _ in group.leave() }
            patient.setLimit(lowWater: 100)
            patient.setInterval(interval: .milliseconds(1), flags: .strictInterval)
            let few = DispatchSemaphore(value: 0)
            for _ in 0..<2 { group.enter() }
            patient.read(offset: 0, length: 100, queue: queue) { isDone, data, _ in
                if !isDone, data?.count == 3 { few.signal() }
                if isDone { group.leave() }
            }
            write(writes, "few", 3)
            few.wait()
            patient.close(flags: .stop)
            group.wait()
            close(reads)
            close(writes)
        }

        @Test("an interval is a nanosecond at least, and one beyond the clock's end is never")
        func intervals() {
            let intervals: [(DispatchTimeInterval, Int64?)] = [
                (.nanoseconds(0), 1), (.microseconds(-3), 1), (.seconds(.min), 1), (.milliseconds(7), 7_000_000),
                (.seconds(.max), nil), (.never, nil),
            ]
            for (interval, nanoseconds) in intervals { #expect(interval.nanoseconds == nanoseconds, "\(interval)") }
        }

        @Test("a channel's handlers on a concurrent queue come one at a time, in order")
        func concurrentChannels() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (reads, writes) = (ends[0], ends[1])
            let queue = DispatchQueue(label: "channels", attributes: .concurrent)
            let (crowd, got, done) = (Crowd(), Box<[UInt8]>([]), DispatchGroup())
            func channel(_ descriptor: Int32) -> DispatchIO {
                done.enter()
                return DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in
                    close(descriptor)
                    done.leave()
                }
            }
            let sent = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            let (reader, writer) = (channel(reads), channel(writes))
            reader.setLimit(highWater: 512)
            done.enter()
            reader.read(offset: 0, length: .max, queue: queue) { isDone, data, _ in
                crowd.visit {
                    if let data { got.change { $0 += data } }
                    sched_yield()
                }
                if isDone { done.leave() }
            }
            writer.write(offset: 0, data: sent.withUnsafeBytes { DispatchData(bytes: $0) }, queue: queue) { isDone, _, _ in
                if isDone { writer.close() }
            }
            reader.close()
            done.wait()
            #expect(crowd.most == 1 && got.value == sent)
        }

        @Test("an active timer goes over to the queue that it is given, though the queue before stands still", arguments: [true, false])
        func timerChangesQueue(isWall: Bool) {
            let (before, after, key) = (DispatchQueue(label: "before"), DispatchQueue(label: "after"), DispatchSpecificKey<Int>())
            after.setSpecific(key: key, value: 7)
            let (ticks, told) = (Log<Bool>(), Counter())
            let timer = DispatchSource.makeTimerSource(queue: before)
            timer.setEventHandler {
                ticks.note(DispatchQueue.getSpecific(key: key) == 7)
                told.add(Int(timer.data))
            }
            let start = ContinuousClock.now
            if isWall {
                timer.schedule(wallDeadline: .now() + 0.005, repeating: .milliseconds(5))
            } else {
                timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5))
            }
            timer.activate()
            #expect(eventually { ticks.all.count >= 2 })
            before.suspend()
            (timer as? DispatchObject)?.setTarget(queue: after)
            let seen = ticks.all.count
            #expect(eventually { ticks.all.count >= seen + 4 })
            timer.cancel()
            after.sync {}
            // No time is told twice.
            #expect(told.count <= Int((ContinuousClock.now - start) / .milliseconds(5)) + 1)
            #expect(ticks.all.last == true)
            before.resume()
        }

        @Test("a channel's cleanup handler comes after the last handler has returned")
        func cleanupIsLast() throws {
            let all = DispatchQueue(label: "concurrent", attributes: .concurrent)
            for queues in [(DispatchQueue(label: "one"), DispatchQueue(label: "two")), (all, all), (.global(), .global())] {
                var ends: [Int32] = [0, 0]
                try #require(pipe(&ends) == 0)
                let (reads, log, done) = (ends[0], Log<String>(), DispatchSemaphore(value: 0))
                let channel = DispatchIO(type: .stream, fileDescriptor: reads, queue: queues.1) { _ in
                    log.note("cleanup")
                    close(reads)
                    done.signal()
                }
                channel.read(offset: 0, length: .max, queue: queues.0) { isDone, _, _ in
                    guard isDone else { return }
                    usleep(20_000)
                    log.note("handler")
                }
                channel.close()
                close(ends[1])
                done.wait()
                #expect(log.all == ["handler", "cleanup"])
            }
        }

        @Test("a channel is not made for a relative path; a channel's barriers run where its target says")
        func channelTargets() {
            let queue = DispatchQueue(label: "target")
            #expect(DispatchIO(type: .stream, path: "relative", oflag: O_RDONLY, mode: 0, queue: queue) { _ in } == nil)
            let (seen, done) = (Box(false), DispatchSemaphore(value: 0))
            let channel = DispatchIO(type: .stream, path: "/dev/null", oflag: O_RDONLY, mode: 0, queue: queue) { _ in }
            channel?.setTarget(queue: queue)
            channel?.barrier {
                seen.value = queue.isCurrent
                done.signal()
            }
            done.wait()
            #expect(seen.value)
            channel?.close()
        }
    }
}
