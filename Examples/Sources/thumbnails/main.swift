// thumbnails JOURNAL OUT [--shard I/N] FILE… — a small JPEG beside the names of large ones.
//
// Each picture is decoded at an eighth of its size, which libturbojpeg does while it decodes, and written to OUT under the
// same name. Killed and run again, it does what is missing; pictures that are none are named at the end.
//
// On a cluster, with 16 shards:
//     overdrive submit slurm --journal /scratch/thumbs --shards 16 -- \
//         /scratch/bin/thumbnails /scratch/thumbs /scratch/small --shard /16 /scratch/photos/*.jpg
import CTurboJPEG
import Glibc
import OverdriveBatch

struct PictureError: Error, CustomStringConvertible {
    var description: String
}

/// All bytes of a file.
func contents(of path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw PictureError(description: String(cString: strerror(errno))) }
    defer { close(file) }
    var status = stat()
    fstat(file, &status)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    guard read(file, &bytes, bytes.count) == bytes.count else {
        throw PictureError(description: "cannot be read whole")
    }
    return bytes
}

/// Written under another name first: whoever is killed meanwhile leaves no half of a picture.
func write(_ bytes: UnsafeBufferPointer<UInt8>, to path: String) throws {
    let draft = "\(path).\(getpid())"
    let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw PictureError(description: "\(draft): \(String(cString: strerror(errno)))") }
    let isWhole = Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count
    close(file)
    guard isWhole, rename(draft, path) == 0 else {
        unlink(draft)
        throw PictureError(description: "\(path): cannot be written")
    }
}

/// Makes the thumbnail of one picture; says how large it became.
func thumbnail(of path: String, in directory: String) throws -> String {
    let jpeg = try contents(of: path)
    guard let reader = tjInitDecompress(), let writer = tjInitCompress() else {
        throw PictureError(description: "no memory for a decoder")
    }
    defer {
        tjDestroy(reader)
        tjDestroy(writer)
    }
    func check(_ result: Int32, _ handle: tjhandle) throws {
        if result != 0 { throw PictureError(description: String(cString: tjGetErrorStr2(handle))) }
    }
    var (width, height, sampling, colours): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    try check(
        tjDecompressHeader3(reader, jpeg, UInt(jpeg.count), &width, &height, &sampling, &colours), reader)
    (width, height) = ((width + 7) / 8, (height + 7) / 8)

    let format = Int32(TJPF_RGB.rawValue)
    var pixels = [UInt8](repeating: 0, count: Int(width * height) * 3)
    try check(
        tjDecompress2(reader, jpeg, UInt(jpeg.count), &pixels, width, 0, height, format, TJFLAG_FASTDCT),
        reader)
    var small: UnsafeMutablePointer<UInt8>?
    var size: UInt = 0
    defer { tjFree(small) }
    try check(
        tjCompress2(
            writer, pixels, width, 0, height, format, &small, &size, Int32(TJSAMP_420.rawValue), 85, 0),
        writer)
    let name = path.split(separator: "/").last.map(String.init) ?? path
    try write(UnsafeBufferPointer(start: small, count: Int(size)), to: "\(directory)/\(name)")
    return "\(width)x\(height) \(size) \(name)\n"
}

var words = Array(CommandLine.arguments.dropFirst())
guard words.count >= 2 else {
    print("usage: thumbnails JOURNAL OUT [--shard I/N] FILE…")
    exit(64)
}
var options = BatchOptions()
options.journal = words.removeFirst()
options.retry = BatchRetry(attempts: 2)
options.endsOnSignals = true
let directory = words.removeFirst()
mkdir(directory, 0o777)
do {
    if words.first == "--shard", words.count > 1 {
        options.shard = try Shard(words[1])
        words.removeFirst(2)
    }
    let job = BatchJob(name: "thumbnails", version: "1", items: words) { path, _ in
        Array(try thumbnail(of: path, in: directory).utf8)
    }
    let report = try job.run(options) { index, result in
        switch result {
        case .success(let line): print(String(decoding: line, as: UTF8.self), terminator: "")
        case .failure(let failure): print("failed: \(words[index]): \(failure)")
        }
    }
    exit(report.ending == .interrupted ? 130 : report.quarantined.isEmpty ? 0 : 1)
} catch {
    print("thumbnails: \(error)")
    exit(1)
}
