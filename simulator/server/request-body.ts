/** Request bodies: JSON, and multipart forms with files. */
import type { JsonObject } from '../lib/json.ts'
import type { HttpRequest } from './request-parser.ts'

/** `isParsed` false = the body is absent, or is neither JSON nor a readable form. */
export interface ParsedBody {
  /** Parsed JSON, or the fields of a form; the raw text when it is neither; undefined when there is no body. */
  readonly value: unknown
  readonly isParsed: boolean
}

/** A file of a form as the truth log shows it. */
export interface FormFile {
  readonly filename: string
  readonly type: string
  readonly bytes: number
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
}

const contents = new WeakMap<FormFile, Uint8Array>()

/** The content of an uploaded file, which the truth log does not show; undefined when `file` is not one. */
export function contentOf(file: unknown): Uint8Array | undefined {
  return typeof file === 'object' && file !== null ? contents.get(file as FormFile) : undefined
}

/** JSON is parsed synchronously, which keeps requests in the order of arrival; forms are parsed asynchronously. */
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

/** Repeated names become a list. */
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
