/**
 * Multipart forms (RFC 7578 over RFC 2046, with the escapes of WHATWG HTML): read from a stream of bytes, wherever
 * it is cut, without holding more than a head and a boundary; and written.
 */

/** Why a form was refused; the message is fit for the client. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError'
}

/** The head of a part, its escapes undone: what the parser finds, and `multipartHead` writes. */
export interface PartHead {
  readonly name: string
  /** Undefined = a field, not a file. */
  readonly filename: string | undefined
  /** Undefined = not said. */
  readonly contentType: string | undefined
}

/** A part is `part`, any number of `data`, `end`. The bytes of `data` are views of what was pushed. */
export type MultipartEvent =
  | { readonly type: 'part'; readonly head: PartHead }
  | { readonly type: 'data'; readonly bytes: Uint8Array }
  | { readonly type: 'end' }

/** What a form may have; one that has more is refused. */
interface MultipartLimits {
  readonly partsMax: number
  /** Bytes of the header lines of one part. */
  readonly headBytesMax: number
}

const preambleBytesMax = 1024
const paddingBytesMax = 64
const boundaryLengthMax = 70
const lineEnd = Buffer.from('\r\n', 'latin1')
const headEnd = Buffer.from('\r\n\r\n', 'latin1')
const dash = 45
const noBytes = Buffer.alloc(0)

/** The boundary of a `content-type` header. Throws MultipartError when it is not a form or has no valid boundary. */
export function boundaryOf(contentType: string): string {
  const [type, parameters] = headerValue(contentType)
  if (type.toLowerCase() !== 'multipart/form-data')
    throw new MultipartError(
      `the content-type must be multipart/form-data; got ${type ? `'${type.slice(0, 100)}'` : 'none'}`,
    )
  const boundary = parameters.get('boundary')
  if (boundary === undefined) throw new MultipartError('the content-type multipart/form-data has no boundary')
  // RFC 2046, section 5.1.1: at most 70 of these characters, and no space at the end.
  if (boundary.length > boundaryLengthMax || !/^[0-9A-Za-z'()+_,\-./:=? ]*[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary))
    throw new MultipartError('the boundary of the content-type is not valid')
  return boundary
}

type State = 'preamble' | 'boundary' | 'head' | 'content' | 'epilogue'

/** One instance a form. Text after the closing boundary is ignored, more than 1 KiB before the first one refused. */
export class MultipartParser {
  readonly #delimiter: Buffer
  readonly #limits: MultipartLimits
  /** Bytes that no event was made of yet. A line end is thought before the first boundary, which needs none. */
  #held: Buffer = lineEnd
  #state: State = 'preamble'
  #preambleBytes = 0
  #parts = 0

  constructor(boundary: string, limits: MultipartLimits) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
    this.#limits = limits
  }

  /** What `bytes` completes. Throws MultipartError on what is no form; nothing may be pushed after that. */
  push(bytes: Uint8Array): MultipartEvent[] {
    const events: MultipartEvent[] = []
    if (this.#state === 'epilogue') return events
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let rest: Buffer = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh])
    for (;;) {
      const next = this.#step(rest, events)
      if (next === undefined) break
      rest = next
    }
    return events
  }

  /** The bytes have ended: throws MultipartError when the form has not. */
  end(): void {
    if (this.#state === 'epilogue') return
    if (this.#state === 'preamble')
      throw new MultipartError('the form does not begin with the boundary of its content-type')
    throw new MultipartError('the form ends before its closing boundary')
  }

  /** What is left after one step; undefined = more bytes are needed, and `held` keeps those that matter. */
  #step(rest: Buffer, events: MultipartEvent[]): Buffer | undefined {
    switch (this.#state) {
      case 'preamble':
        return this.#preamble(rest)
      case 'boundary':
        return this.#boundary(rest)
      case 'head':
        return this.#head(rest, events)
      case 'content':
        return this.#content(rest, events)
      case 'epilogue':
        this.#held = noBytes
        return undefined
    }
  }

  #preamble(rest: Buffer): Buffer | undefined {
    const at = rest.indexOf(this.#delimiter)
    if (at >= 0) return this.#enter('boundary', rest.subarray(at + this.#delimiter.length))
    const keep = tailLength(rest, this.#delimiter)
    this.#preambleBytes += rest.length - keep
    if (this.#preambleBytes > preambleBytesMax)
      throw new MultipartError('the form does not begin with the boundary of its content-type')
    return this.#hold(rest.subarray(rest.length - keep))
  }

  /** After the boundary itself: `--` ends the form; blanks and a line end begin a part. */
  #boundary(rest: Buffer): Buffer | undefined {
    if (rest.length < 2) return this.#hold(rest)
    if (rest[0] === dash && rest[1] === dash) return this.#enter('epilogue', noBytes)
    const end = rest.indexOf(lineEnd)
    const padding = rest.subarray(0, end < 0 ? rest.length : end)
    if (padding.length > paddingBytesMax || /[^ \t\r]/.test(padding.toString('latin1')))
      throw new MultipartError('a boundary of the form is followed by other text')
    if (end < 0) return this.#hold(rest)
    if (++this.#parts > this.#limits.partsMax)
      throw new MultipartError(`the form has more than ${this.#limits.partsMax} parts`)
    // The line end stays: a head without any line is then an empty line like every other end of a head.
    return this.#enter('head', rest.subarray(end))
  }

  #head(rest: Buffer, events: MultipartEvent[]): Buffer | undefined {
    const end = rest.indexOf(headEnd)
    if ((end < 0 ? rest.length : end) > this.#limits.headBytesMax)
      throw new MultipartError(`a part of the form has more than ${this.#limits.headBytesMax} bytes of headers`)
    if (end < 0) return this.#hold(rest)
    events.push({ type: 'part', head: partHead(rest.subarray(0, end)) })
    // The last line end stays again: an empty part has its boundary right after the head.
    return this.#enter('content', rest.subarray(end + 2))
  }

  #content(rest: Buffer, events: MultipartEvent[]): Buffer | undefined {
    // The line end that was left by the head is not content, unless it belongs to the boundary.
    const at = rest.indexOf(this.#delimiter)
    const from = this.#skipsLineEnd ? 2 : 0
    if (at >= 0) {
      if (at > from) events.push({ type: 'data', bytes: rest.subarray(from, at) })
      events.push({ type: 'end' })
      return this.#enter('boundary', rest.subarray(at + this.#delimiter.length))
    }
    const keep = tailLength(rest, this.#delimiter)
    const to = rest.length - keep
    if (to <= from) return this.#hold(rest)
    events.push({ type: 'data', bytes: rest.subarray(from, to) })
    this.#skipsLineEnd = false
    return this.#hold(rest.subarray(to))
  }

  /** In `content`: no byte of the part was handed out yet. */
  #skipsLineEnd = false

  #enter(state: State, rest: Buffer): Buffer {
    this.#state = state
    this.#skipsLineEnd = state === 'content'
    this.#held = noBytes
    return rest
  }

  #hold(rest: Buffer): undefined {
    // A copy: the next push may come in the same memory.
    this.#held = Buffer.from(rest)
    return undefined
  }
}

/** How many bytes at the end of `bytes` may be the beginning of `delimiter`. */
function tailLength(bytes: Buffer, delimiter: Buffer): number {
  const first = Math.max(bytes.length - delimiter.length + 1, 0)
  for (let at = bytes.indexOf(delimiter[0]!, first); at >= 0; at = bytes.indexOf(delimiter[0]!, at + 1))
    if (bytes.compare(delimiter, 0, bytes.length - at, at) === 0) return bytes.length - at
  return 0
}

function partHead(bytes: Buffer): PartHead {
  let disposition: string | undefined
  let contentType: string | undefined
  for (const line of bytes.toString('utf8').split('\r\n')) {
    if (line === '') continue
    const colon = line.indexOf(':')
    if (colon <= 0 || /[\s\0]/.test(line.slice(0, colon)) || /[\r\n\0]/.test(line))
      throw new MultipartError('a part of the form has a header line that is not `name: value`')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === 'content-disposition') {
      if (disposition !== undefined) throw new MultipartError('a part of the form has two content-disposition headers')
      disposition = value
    } else if (name === 'content-type') contentType = value
    else if (name === 'content-transfer-encoding' && !/^(binary|7bit|8bit)$/i.test(value))
      throw new MultipartError(`a part of the form is encoded as '${value.slice(0, 50)}'; send its bytes as they are`)
  }
  const [kind, parameters] = headerValue(disposition ?? '')
  const name = parameters.get('name')
  if (kind.toLowerCase() !== 'form-data' || name === undefined || name === '')
    throw new MultipartError('a part of the form has no `content-disposition: form-data` header with a name')
  return { name, filename: extendedFilename(parameters) ?? parameters.get('filename'), contentType }
}

/** `a; b=c; d="e"`: the value, and its parameters by lower-case name; the first of each counts. */
function headerValue(text: string): [string, Map<string, string>] {
  const parameters = new Map<string, string>()
  const start = text.indexOf(';')
  if (start < 0) return [text.trim(), parameters]
  const pattern = /;\s*([^=;\s"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/gy
  pattern.lastIndex = start
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const name = found[1]!.toLowerCase()
    // Browsers write quotes and line ends as %22, %0D, %0A; other clients put a backslash before a quote only.
    const value =
      found[2] === undefined ? found[3]!.trim() : found[2].replace(/\\(["\\])/g, '$1').replaceAll('%22', '"')
    if (!parameters.has(name)) parameters.set(name, value)
  }
  return [text.slice(0, start).trim(), parameters]
}

/** `filename*=UTF-8''na%C3%AFve.wav`: not allowed in forms, but some clients send it. */
function extendedFilename(parameters: ReadonlyMap<string, string>): string | undefined {
  const coded = /^utf-8'[^']*'(.*)$/i.exec(parameters.get('filename*') ?? '')?.[1]
  if (coded === undefined) return undefined
  try {
    return decodeURIComponent(coded)
  } catch {
    throw new MultipartError('a part of the form has a filename* that is not valid')
  }
}

/** The name of a field as JSON knows it: `timestamp_granularities[]` is the list `timestamp_granularities`. */
export function fieldName(name: string): string {
  return name.endsWith('[]') ? name.slice(0, -2) : name
}

/** Boundary and head of a part, up to where its content begins. */
export function multipartHead(boundary: string, { name, filename, contentType }: PartHead): string {
  const file = filename === undefined ? '' : `; filename="${escaped(filename)}"`
  const type = contentType === undefined ? '' : `\r\ncontent-type: ${contentType.replace(/[\r\n\0]/g, ' ')}`
  return `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"${file}${type}\r\n\r\n`
}

/** What closes a form after the line end of its last part. */
export function multipartEnd(boundary: string): string {
  return `--${boundary}--\r\n`
}

/** As browsers do (WHATWG HTML, "multipart form data"): nothing can end the quoted text or the line. */
function escaped(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('\0', '')
}
