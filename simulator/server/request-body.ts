/** Request bodies: JSON, and forms with files. */
import type { JsonObject } from '../lib/json.ts'
import type { HttpRequest } from './request-parser.ts'

/**
 * `isRead` false = there is no body, or it is neither JSON nor a form that can be read. (A text may also be read: as
 * JSON.)
 */
export interface ParsedBody {
  /** JSON, or the fields of a form; the text where it is neither; undefined where there is nothing. */
  readonly value: unknown
  readonly isParsed: boolean
}

/** A file of a form, as the truth log shows it. */
export interface FormFile {
  readonly filename: string
  readonly type: string
  readonly bytes: number
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string
}

const contents = new WeakMap<FormFile, Uint8Array>()

/** The bytes of a file of a form; the truth log does not show them. Undefined = this is none. */
export function contentOf(file: unknown): Uint8Array | undefined {
  return typeof file === 'object' && file !== null ? contents.get(file as FormFile) : undefined
}

/** JSON is read at once, so that requests keep their order; a form takes its time. */
export function readBody(request: HttpRequest): ParsedBody | Promise<ParsedBody> {
  if (request.body.length === 0) return { value: undefined, isParsed: false }
  const type = request.headers.get('content-type') ?? ''
  if (/^multipart\/form-data/i.test(type)) return readForm(request.body, type)
  const text = request.body.toString('utf8')
  try {
    return { value: JSON.parse(text), isParsed: true }
  } catch {
    return { value: text, isParsed: false }
  }
}

async function readForm(body: Buffer, type: string): Promise<ParsedBody> {
  try {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const fields: JsonObject = {}
    for (const [name, value] of form as unknown as Iterable<[string, string | File]>)
      add(fields, name.replace(/\[\]$/, ''), typeof value === 'string' ? value : await readFile(value))
    return { value: fields, isParsed: true }
  } catch {
    return { value: `a form of ${body.length} bytes that cannot be read`, isParsed: false }
  }
}

/** A name that comes again makes a list. */
function add(fields: JsonObject, name: string, value: string | FormFile): void {
  fields[name] = Object.hasOwn(fields, name) ? [fields[name], value].flat() : value
}

async function readFile(file: File): Promise<FormFile> {
  const content = new Uint8Array(await file.arrayBuffer())
  const sha256 = new Bun.CryptoHasher('sha256').update(content).digest('hex')
  const read = { filename: file.name, type: file.type, bytes: file.size, sha256 }
  contents.set(read, content)
  return read
}
