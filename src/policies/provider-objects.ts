/** Objects in the account of a provider, which all keys of this gateway share, are named only by those who may. */
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { isLocalFileId } from '../core/files.ts'
import type { Policy } from '../core/policy.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { isObject } from '../lib/json/json-values.ts'

type Fields = Record<string, unknown>
type Path = readonly (string | number)[]
/** Where an object is named; undefined = nowhere. */
type Found = Path | undefined

/**
 * Throws `forbidden` for a call that names a file, vector store, container, skill, prompt, cached content or stored
 * address by the provider's own id (`Settings.providerObjectIds`). Ids of files uploaded through this gateway pass.
 */
export function providerObjects(): Policy {
  return {
    name: 'provider-objects',
    stage: 'body',
    admit(call) {
      const { body, format } = call
      if (!body || !format || call.upload || mayName(call)) return
      const path = namedIn(body)
      if (path) throw refused(path)
    },
  }
}

function mayName({ caller, models }: Call): boolean {
  const { providerObjectIds: who } = models.settings
  return who === 'all_keys' || (who === 'master_key' && caller.role === 'admin')
}

function refused(path: Path): GatewayError {
  const where = path.join('.')
  return new GatewayError(
    'forbidden',
    `\`${where}\` names an object of the provider's account by the provider's own id, which this key may not do; ` +
      'upload the file to POST /v1/files of this gateway and send that id, or send the content itself; the operator ' +
      'allows such ids by `provider_object_ids: all_keys`',
    { param: where },
  )
}

function namedIn(body: JsonBody): Found {
  for (const [field, look] of fields) {
    if (!body.has(field) || !isWorthALook(body, field)) continue
    const value = body.get(field)
    const found = look(value, [field])
    if (found) return found
  }
  return undefined
}

const fields: readonly (readonly [string, (value: unknown, path: Path) => Found])[] = [
  ['messages', inMessages],
  ['input', inMessages],
  ['contents', inContents],
  ['tools', inTools],
  ['systemInstruction', inContents],
  ['system_instruction', inContents],
  ['prompt', (value, path) => (isObject(value) ? idIn(value, 'id', path) : undefined)],
  ['container', inContainer],
  ['cachedContent', asId],
  ['cached_content', asId],
  ['vector_store_ids', asIds],
]

/** Smaller fields are parsed anyway. */
const parsedBytesMax = 256 * 1024
/** One of these is in every field that names an object. `\u00`: an ASCII letter may be written as an escape. */
const marks = ['file', 'gs:', 's3:', 'vector_store', 'container', 'skill', 'Search', 'rag', '\\u00'].map(text =>
  Buffer.from(text, 'latin1'),
)

function isWorthALook(body: JsonBody, field: string): boolean {
  if (body.sizeOf(field) <= parsedBytesMax) return true
  const { bytes } = body
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return marks.some(mark => buffer.includes(mark))
}

function first(list: unknown, path: Path, look: (value: Fields, path: Path) => Found): Found {
  if (!Array.isArray(list)) return undefined
  for (let at = 0; at < list.length; at++) {
    const one: unknown = list[at]
    const found = isObject(one) ? look(one, [...path, at]) : undefined
    if (found) return found
  }
  return undefined
}

/** Messages of chats, and items of Responses, whose results have `output`. */
function inMessages(list: unknown, path: Path): Found {
  return first(list, path, (message, at) => {
    const { content, output } = message
    if (typeof content === 'string' && output === undefined) return undefined
    return (
      inPart(message, at) ??
      (isObject(output) ? inPart(output, [...at, 'output']) : first(output, [...at, 'output'], inPart))
    )
  })
}

/** Blocks in which the provider itself names what it has made: they are history, and give access to nothing. */
const isResult = (type: unknown): boolean => typeof type === 'string' && /_(result|output|call)$/.test(type)

function inPart(part: Fields, path: Path): Found {
  const { type, file, source, content } = part
  const own = isResult(type) ? undefined : rawFile(part, path)
  return (
    own ??
    (isObject(file) ? rawFile(file, [...path, 'file']) : undefined) ??
    (isObject(source) ? inSource(source, [...path, 'source']) : undefined) ??
    first(content, [...path, 'content'], inPart)
  )
}

function inSource(source: Fields, path: Path): Found {
  return rawFile(source, path) ?? first(source.content, [...path, 'content'], inPart)
}

const addresses = ['url', 'file_url', 'image_url', 'video_url', 'audio_url', 'file_data']

function rawFile(holder: Fields, path: Path): Found {
  const { file_id: id } = holder
  if (typeof id === 'string' && id !== '' && !isLocalFileId(id)) return [...path, 'file_id']
  for (const name of addresses) {
    const value = holder[name]
    if (typeof value === 'string' && isStored(value)) return [...path, name]
    if (isObject(value) && typeof value.url === 'string' && isStored(value.url)) return [...path, name, 'url']
  }
  return undefined
}

/** Read with the credentials or from the disk of the upstream: buckets, the Files API of Gemini, files of a server. */
const storage = /^\s*((gs|s3|file|abfss?|azureml):|files\/|https?:\/\/[^/]*generativelanguage\.googleapis\.com[/:])/i

const isStored = (address: string): boolean => storage.test(address)

function asId(value: unknown, path: Path): Found {
  return typeof value === 'string' && value !== '' ? path : undefined
}

function idIn(holder: Fields, name: string, path: Path): Found {
  return asId(holder[name], [...path, name])
}

function asIds(list: unknown, path: Path): Found {
  if (!Array.isArray(list)) return undefined
  const at = list.findIndex(id => typeof id === 'string' && !isLocalFileId(id))
  return at < 0 ? undefined : [...path, at]
}

/** A container: an id, or an object with one, with files and skills; the vendor's own skills are for everyone. */
function inContainer(value: unknown, path: Path): Found {
  if (!isObject(value)) return asId(value, path)
  return (
    idIn(value, 'id', path) ??
    idIn(value, 'container_id', path) ??
    asIds(value.file_ids, [...path, 'file_ids']) ??
    first(value.skills, [...path, 'skills'], (skill, at) =>
      skill.type === 'custom' ? idIn(skill, 'skill_id', at) : undefined,
    )
  )
}

/** Of functions there is nothing to see: their parameters may have any names. */
function inTools(list: unknown, path: Path): Found {
  return first(Array.isArray(list) ? list : [list], path, (tool, at) => {
    if (tool.type === 'function' || tool.type === 'custom') return undefined
    const mask = tool.input_image_mask
    return (
      asIds(tool.vector_store_ids, [...at, 'vector_store_ids']) ??
      inContainer(tool.container, [...at, 'container']) ??
      (isObject(tool.environment) ? inContainer(tool.environment, [...at, 'environment']) : undefined) ??
      (isObject(mask) ? rawFile(mask, [...at, 'input_image_mask']) : undefined) ??
      namedTool(tool, at)
    )
  })
}

/** Gemini's tools that read stores of the account. */
function namedTool(tool: Fields, path: Path): Found {
  const name = ['fileSearch', 'file_search', 'retrieval'].find(one => isObject(tool[one]))
  return name === undefined ? undefined : [...path, name]
}

/** Gemini's contents: one or several, in camel or snake case. */
function inContents(value: unknown, path: Path): Found {
  return Array.isArray(value)
    ? first(value, path, (content, at) => inGeminiParts(content.parts, [...at, 'parts']) ?? inGeminiPart(content, at))
    : isObject(value)
      ? inGeminiParts(value.parts, [...path, 'parts'])
      : undefined
}

function inGeminiParts(parts: unknown, path: Path): Found {
  return first(Array.isArray(parts) ? parts : [parts], path, inGeminiPart)
}

function inGeminiPart(part: Fields, path: Path): Found {
  const data = part.fileData ?? part.file_data
  if (isObject(data)) {
    const uri = data.fileUri ?? data.file_uri
    if (typeof uri === 'string' && !isPublic(uri)) return [...path, 'fileData', 'fileUri']
  }
  const response = part.functionResponse ?? part.function_response
  return isObject(response) && response.parts !== undefined
    ? inGeminiParts(response.parts, [...path, 'functionResponse', 'parts'])
    : undefined
}

const isPublic = (uri: string): boolean => /^https?:\/\//i.test(uri) && !isStored(uri)
