import Foundation
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    /// What libdispatch's own test programs do with channels and descriptors, each by that program's name.
    @Suite("libdispatch's scenarios of input and output")
    struct ChannelScenarios {
        private let queue = DispatchQueue(label: "channels")

        private func makePipe() throws -> (reads: Int32, writes: Int32) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            return (ends[0], ends[1])
        }

        private func sockets() throws -> (Int32, Int32) {
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            return (ends[0], ends[1])
        }

        private func channel(_ descriptor: Int32, _ group: DispatchGroup) -> DispatchIO {
            group.enter()
            return DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in
                close(descriptor)
                group.leave()
            }
        }

        private func data(_ count: Int, _ first: UInt8) -> DispatchData {
            (0..<count).map { UInt8(truncatingIfNeeded: $0) &+ first }.withUnsafeBytes { DispatchData(bytes: $0) }
        }

        private func isRight(_ bytes: [UInt8], _ count: Int, _ first: UInt8) -> Bool {
            bytes.count == count && bytes.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0) &+ first }
        }

        private func readAll(_ channel: DispatchIO, into bytes: Box<[UInt8]>, _ group: DispatchGroup) {
            group.enter()
            channel.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
                dispatchPrecondition(condition: .onQueue(self.queue))
                if let data { bytes.change { $0 += data } }
                if isDone {
                    #expect(error == 0)
                    group.leave()
                }
            }
        }

        @Test("io_pipe: more than a pipe holds goes from one channel to another, in order")
        func pipes() throws {
            let (reads, writes) = try makePipe()
            let group = DispatchGroup()
            let (reader, writer) = (channel(reads, group), channel(writes, group))
            let bytes = Box<[UInt8]>([])
            readAll(reader, into: bytes, group)
            writer.write(offset: 0, data: data(300_000, 7), queue: queue) { isDone, _, error in
                #expect(error == 0)
                if isDone { writer.close() }
            }
            reader.close()
            #expect(group.wait(timeout: .now() + 200) == .success)
            #expect(isRight(bytes.value, 300_000, 7))
        }

        @Test("io_net, io_muxed: both ends of a socket read and write at the same time")
        func muxed() throws {
            let (here, there) = try sockets()
            let group = DispatchGroup()
            let ends = [channel(here, group), channel(there, group)]
            let received = [Box<[UInt8]>([]), Box<[UInt8]>([])]
            for (place, end) in ends.enumerated() {
                group.enter()
                end.read(offset: 0, length: 200_000, queue: queue) { isDone, data, error in
                    #expect(error == 0)
                    if let data { received[place].change { $0 += data } }
                    if isDone { group.leave() }
                }
                group.enter()
                end.write(offset: 0, data: data(200_000, UInt8(place)), queue: queue) { isDone, _, error in
                    #expect(error == 0)
                    if isDone { group.leave() }
                }
            }
            for end in ends { end.close() }
            #expect(group.wait(timeout: .now() + 200) == .success)
            #expect(isRight(received[0].value, 200_000, 1))
            #expect(isRight(received[1].value, 200_000, 0))
        }

        @Test("io_pipe_close: closing a channel with .stop ends a read for which nothing comes")
        func stopped() throws {
            let (reads, writes) = try makePipe()
            let group = DispatchGroup()
            let reader = channel(reads, group)
            let ended = Box<Int32>(-1)
            group.enter()
            reader.read(offset: 0, length: 10, queue: queue) { isDone, _, error in
                if isDone {
                    ended.value = error
                    group.leave()
                }
            }
            reader.close(flags: .stop)
            #expect(group.wait(timeout: .now() + 200) == .success)
            #expect(ended.value == ECANCELED)
            close(writes)
        }

        @Test("read, read2: a source tells until the other end closes; what its handler reads is what was written")
        func readSource() throws {
            let (reads, writes) = try makePipe()
            let source = DispatchSource.makeReadSource(fileDescriptor: reads, queue: queue)
            let bytes = Box<[UInt8]>([])
            let told = Log<UInt>()
            let over = DispatchSemaphore(value: 0)
            source.setEventHandler { [unowned source] in
                told.note(source.data)
                var buffer = [UInt8](repeating: 0, count: 4096)
                var count: Int
                repeat {
                    count = read(reads, &buffer, buffer.count)
                    if count > 0 { bytes.change { $0 += buffer.prefix(count) } }
                    // libdispatch on Linux tells once that the other end is closed, by 0, and then nothing any more.
                } while source.data == 0 && count > 0
                if count == 0 { source.cancel() }
            }
            source.setCancelHandler {
                close(reads)
                over.signal()
            }
            source.resume()
            onThread {
                let all = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
                var sent = 0
                while sent < all.count {
                    sent += max(0, all[sent...].withUnsafeBytes { write(writes, $0.baseAddress!, min($0.count, 1000)) })
                }
                close(writes)
            }
            #expect(over.wait(timeout: .now() + 200) == .success)
            #expect(isRight(bytes.value, 100_000, 0))
            #expect(told.all.last == 0)
            #expect(source.isCancelled)
        }
    }
}
