/** Reads a client's multipart form: fields into memory and into a JSON view, large files to disk. */
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyPiece } from '../../core/transport.ts'
import type { Upload, UploadPart } from '../../core/upload.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { boundaryOf, fieldName, MultipartError, MultipartParser } from '../../lib/multipart.ts'
import type { MultipartEvent, PartHead } from '../../lib/multipart.ts'
import { noRoomForFile, Spool } from './spool.ts'

/** The parts of a request with a form that are used. */
export type FormRequest = Pick<HttpRequest, 'headers' | 'body'>

interface UploadLimits {
  /** The whole body. */
  readonly bytesMax: number
  /** For large files. */
  readonly directory: string
}

/** A form read to its end. `upload` must be closed once it is sent: until then its files use memory or disk. */
export interface ReadForm {
  /** The fields as one JSON object; a file is `{filename, content_type, bytes}`. */
  readonly body: JsonBody
  readonly upload: Upload
}

const partsMax = 64
const headBytesMax = 8 * 1024
/** A field may contain a data URL of a few seconds of speech (`known_speaker_references`). */
const fieldBytesMax = 1024 * 1024
/** All fields together, which are kept in memory. */
const fieldsBytesMax = 8 * 1024 * 1024
/** Up to this size a file stays in memory. */
const memoryBytesMax = 256 * 1024
const piecesMax = 256

/**
 * Reads the form to its end and keeps nothing when that fails. Throws GatewayError: `unsupported-media` when the
 * body is no form, `invalid-request` when it is malformed, `too-large`, `client-closed`.
 */
export async function readForm(request: FormRequest, limits: UploadLimits): Promise<ReadForm> {
  const parser = new MultipartParser(boundary(request), { partsMax, headBytesMax })
  const collector = new Collector(limits.directory)
  try {
    let bytes = 0
    if ((request.body.announcedBytes ?? 0) > limits.bytesMax) throw bodyTooLarge(limits.bytesMax)
    for (let piece = await request.body.next(); piece; piece = await request.body.next()) {
      bytes += piece.length
      if (bytes > limits.bytesMax) throw bodyTooLarge(limits.bytesMax)
      for (const event of parser.push(piece)) await collector.take(event)
    }
    parser.end()
    return { body: jsonView(collector.parts), upload: collector }
  } catch (cause) {
    collector.close()
    throw readError(cause)
  }
}

function boundary({ headers }: FormRequest): string {
  try {
    return boundaryOf(headers.get('content-type') ?? '')
  } catch (cause) {
    if (!(cause instanceof MultipartError)) throw cause
    throw new GatewayError('unsupported-media', `${cause.message}; send the fields and the file as a form`, { cause })
  }
}

function readError(cause: unknown): unknown {
  if (cause instanceof GatewayError) return cause
  if (cause instanceof MultipartError) return new GatewayError('invalid-request', cause.message, { cause })
  // Other errors are the gateway's own.
  return noRoomForFile(cause) ?? cause
}

/** Collects the parts of a form from parser events; is itself the upload once the form has ended. */
class Collector implements Upload {
  readonly parts: UploadPart[] = []
  readonly #directory: string
  #spool: Spool | undefined
  #closed = false
  #head: PartHead | undefined
  #pieces: Uint8Array[] = []
  #bytes = 0
  #fieldsBytes = 0
  /** Offset of the current part in the spool; -1 = it is in memory. */
  #spooledFrom = -1

  constructor(directory: string) {
    this.#directory = directory
  }

  async take(event: MultipartEvent): Promise<void> {
    if (event.type === 'part') this.#begin(event.head)
    else if (event.type === 'end') this.#end()
    else await this.#data(event.bytes)
  }

  close(): void {
    this.#closed = true
    this.#pieces = []
    this.#spool?.close()
  }

  #begin(head: PartHead): void {
    this.#head = head
    this.#pieces = []
    this.#bytes = 0
    this.#spooledFrom = -1
  }

  async #data(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.length
    if (this.#head!.filename === undefined) return this.#field(bytes)
    if (this.#spooledFrom >= 0) return this.#spool!.append(bytes)
    this.#keep(bytes)
    if (this.#bytes <= memoryBytesMax) return
    const spool = await this.#openSpool()
    this.#spooledFrom = spool.bytes
    for (const piece of this.#pieces) await spool.append(piece)
    this.#pieces = []
  }

  #field(bytes: Uint8Array): void {
    this.#fieldsBytes += bytes.length
    const { name } = this.#head!
    if (this.#bytes > fieldBytesMax)
      throw new GatewayError(
        'invalid-request',
        `the field \`${shown(name)}\` of the form is larger than ${fieldBytesMax} bytes; a file needs a filename`,
        { param: shown(name) },
      )
    if (this.#fieldsBytes > fieldsBytesMax)
      throw new GatewayError(
        'invalid-request',
        `the fields of the form are larger than ${fieldsBytesMax} bytes together`,
      )
    this.#keep(bytes)
  }

  /** Copies, because the piece is a view of a far larger buffer; small pieces are joined. */
  #keep(bytes: Uint8Array): void {
    this.#pieces.push(bytes.slice())
    if (this.#pieces.length === piecesMax) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  async #openSpool(): Promise<Spool> {
    if (this.#spool) return this.#spool
    const spool = await Spool.open(this.#directory)
    if (this.#closed) spool.close()
    return (this.#spool = spool)
  }

  #end(): void {
    const { name, filename, contentType } = this.#head!
    const content: BodyPiece[] =
      this.#spooledFrom < 0 ? this.#pieces : [{ file: this.#spool!, offset: this.#spooledFrom, length: this.#bytes }]
    this.parts.push({ name, filename, contentType, content, bytes: this.#bytes })
    this.#pieces = []
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Lists (`name[]`, or a name given twice) become arrays, so that no field can hide another. */
function jsonView(parts: readonly UploadPart[]): JsonBody {
  const fields = new Map<string, unknown[]>()
  const lists = new Set<string>()
  for (const part of parts) {
    const name = fieldName(part.name)
    const values = fields.get(name)
    if (values || name !== part.name) lists.add(name)
    if (values) values.push(partValue(part))
    else fields.set(name, [partValue(part)])
  }
  const entries = [...fields].map(([name, values]): [string, unknown] => [name, lists.has(name) ? values : values[0]])
  return JsonBody.read(Buffer.from(JSON.stringify(Object.fromEntries(entries)), 'utf8'))
}

function partValue({ name, filename, contentType, content, bytes }: UploadPart): unknown {
  if (filename !== undefined) return { filename, content_type: contentType ?? null, bytes }
  try {
    return decoder.decode(Buffer.concat(content as Uint8Array[]))
  } catch (cause) {
    throw new GatewayError(
      'invalid-request',
      `the field \`${shown(name)}\` of the form is not valid UTF-8; a file needs a filename`,
      { param: shown(name), cause },
    )
  }
}

const shownLengthMax = 60

function shown(name: string): string {
  return name.slice(0, shownLengthMax).toWellFormed()
}
