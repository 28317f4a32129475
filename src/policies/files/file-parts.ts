/**
 * Where the body of a chat names an uploaded file, in the dialects that support this, and how the same part contains
 * the file itself. OpenAI's API reference, "Chat" and "Responses"; Anthropic's, "Files" and "PDF support".
 */
import { isLocalFileId } from '../../core/objects/files.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { exactText } from '../../lib/json/exact-json.ts'
import { messageNames } from '../../core/dialects/exact-names.ts'

type Path = readonly (string | number)[]

/** A file inside the body. */
export interface InlineFile {
  readonly filename: string
  readonly mediaType: string
  /** Base64, or a placeholder until the body is sent. */
  readonly data: string
  /** The content of a text. */
  text(): string
}

/** One place in the body that names an uploaded file of this gateway. */
export interface FileReference {
  readonly id: string
  /** Of the id: `['messages', 0, 'content', 1, 'file', 'file_id']`. */
  readonly path: Path
  /** The part is a picture. */
  readonly isPicture: boolean
  /** The field that can hold the content in place of the id; undefined = only an id is possible. */
  readonly instead: string | undefined
  /** The part with another id. */
  withId(id: string): unknown
  /** The part with the file in it; undefined = it cannot contain such a file. */
  inlined(file: InlineFile): unknown
}

/** The replacement of a reference. */
type ReferenceVisitor = (reference: FileReference) => unknown

/** A type of part that can name a file. */
interface PartKind {
  /** Where in the part `file_id` is; absent = in the part itself. */
  readonly inside?: 'file' | 'source'
  readonly isPicture?: boolean
  readonly instead?: string
  inlined?(part: Json, file: InlineFile): Json | undefined
}

const block: Pick<PartKind, 'inside' | 'instead'> = { inside: 'source', instead: 'source.data' }

const kinds: ReadonlyMap<unknown, PartKind> = new Map<unknown, PartKind>([
  ['file', { inside: 'file', instead: 'file_data', inlined: chatPart }],
  [
    'input_file',
    { instead: 'file_data', inlined: (part, file) => pictureUrl(part, file, 'input_image') ?? inputFile(part, file) },
  ],
  [
    'input_image',
    { isPicture: true, instead: 'image_url', inlined: (part, file) => pictureUrl(part, file, 'input_image') },
  ],
  [
    'computer_screenshot',
    { isPicture: true, instead: 'image_url', inlined: (part, file) => pictureUrl(part, file, 'computer_screenshot') },
  ],
  ['document', { ...block, inlined: (part, file) => pictureBlock(part, file) ?? documentBlock(part, file) }],
  ['image', { ...block, isPicture: true, inlined: pictureBlock }],
  ['container_upload', {}],
])

/** The places of a body that name files of this gateway, in order. */
export function fileReferences(body: JsonBody): FileReference[] {
  const found: FileReference[] = []
  rewriteReferences(body, reference => {
    found.push(reference)
    return undefined
  })
  return found
}

/**
 * The fields of the body with each reference replaced; fields without references are left out.
 */
export function rewriteReferences(body: JsonBody, visit: ReferenceVisitor): Edit[] {
  const edits: Edit[] = []
  const rewrite = (field: string, map: (item: Json, path: Path, visit: ReferenceVisitor) => unknown): void => {
    const items = body.exact(field, messageNames) ?? body.get(field)
    if (!Array.isArray(items)) return
    let found = false
    const noting: ReferenceVisitor = reference => {
      found = true
      return visit(reference)
    }
    const rewritten = items.map((item, at) => (isObject(item) ? map(item, [field, at], noting) : item))
    if (found) edits.push({ set: field, json: exactText(rewritten) })
  }
  rewrite('messages', mapMessage)
  rewrite('input', mapMessage)
  rewrite('tools', mapTool)
  return edits
}

/** A message, or an item of a Responses body: results of tools have `output`. */
function mapMessage(message: Json, path: Path, visit: ReferenceVisitor): Json {
  const { content, output } = message
  if (Array.isArray(content)) return { ...message, content: mapParts(content, [...path, 'content'], visit) }
  if (Array.isArray(output)) return { ...message, output: mapParts(output, [...path, 'output'], visit) }
  return isObject(output) ? { ...message, output: mapPart(output, [...path, 'output'], visit) } : message
}

function mapParts(parts: readonly unknown[], path: Path, visit: ReferenceVisitor): unknown[] {
  return parts.map((part, at) => (isObject(part) ? mapPart(part, [...path, at], visit) : part))
}

function mapPart(part: Json, path: Path, visit: ReferenceVisitor): unknown {
  const kind = kinds.get(part.type)
  if (kind) {
    const { inside } = kind
    const holder = inside ? part[inside] : part
    const id = isObject(holder) ? holder.file_id : undefined
    if (typeof id === 'string' && isLocalFileId(id))
      return visit(partReference(part, kind, { id, path: [...path, ...(inside ? [inside] : []), 'file_id'] }))
  }
  // Anthropic's tool results, and documents made of blocks.
  const { content, source } = part
  if (part.type === 'tool_result' && Array.isArray(content))
    return { ...part, content: mapParts(content, [...path, 'content'], visit) }
  if (part.type === 'document' && isObject(source) && Array.isArray(source.content))
    return { ...part, source: { ...source, content: mapParts(source.content, [...path, 'source', 'content'], visit) } }
  return part
}

function partReference(
  part: Json,
  { inside, isPicture = false, instead, inlined }: PartKind,
  at: Pick<FileReference, 'id' | 'path'>,
): FileReference {
  return {
    ...at,
    isPicture,
    instead,
    withId: id =>
      inside ? { ...part, [inside]: { ...(part[inside] as Json), file_id: id } } : { ...part, file_id: id },
    inlined: file => inlined?.(part, file),
  }
}

/** OpenAI's code interpreter: the initial files of its container. */
function mapTool(tool: Json, path: Path, visit: ReferenceVisitor): Json {
  const { container } = tool
  if (tool.type !== 'code_interpreter' || !isObject(container) || !Array.isArray(container.file_ids)) return tool
  const ids = container.file_ids.map((id: unknown, at) =>
    typeof id === 'string' && isLocalFileId(id)
      ? visit({
          id,
          path: [...path, 'container', 'file_ids', at],
          isPicture: false,
          instead: undefined,
          withId: other => other,
          inlined: () => undefined,
        })
      : id,
  )
  return { ...tool, container: { ...container, file_ids: ids } }
}

const isPictureFile = ({ mediaType }: InlineFile): boolean => mediaType.startsWith('image/')
const dataUrl = ({ mediaType, data }: InlineFile): string => `data:${mediaType};base64,${data}`

/** A part of chat completions: pictures have a type of their own. */
function chatPart({ file: named, ...part }: Json, file: InlineFile): Json {
  if (isPictureFile(file)) return { ...part, type: 'image_url', image_url: { url: dataUrl(file) } }
  const { file_id: _, ...rest } = named as Json
  return { ...part, file: { filename: file.filename, ...rest, file_data: dataUrl(file) } }
}

function inputFile({ file_id: _, ...part }: Json, file: InlineFile): Json {
  return { filename: file.filename, ...part, file_data: dataUrl(file) }
}

function pictureUrl({ file_id: _, filename: __, ...part }: Json, file: InlineFile, type: string): Json | undefined {
  return isPictureFile(file) ? { ...part, type, image_url: dataUrl(file) } : undefined
}

/** The further fields of a block: of these a picture has only the cache breakpoint. */
function pictureBlock({ cache_control: cache }: Json, file: InlineFile): Json | undefined {
  if (!isPictureFile(file)) return undefined
  const source = { type: 'base64', media_type: file.mediaType, data: file.data }
  return { type: 'image', source, ...(cache !== undefined && { cache_control: cache }) }
}

function documentBlock(part: Json, { filename, mediaType, data, text }: InlineFile): Json {
  const source = mediaType.startsWith('text/')
    ? { type: 'text', media_type: 'text/plain', data: text() }
    : { type: 'base64', media_type: mediaType, data }
  return { title: filename, ...part, source }
}
