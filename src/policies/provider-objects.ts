/** Objects in the account of a provider, which all keys of this gateway share, are named only by those who may. */
import type { Call } from '../core/call.ts'
import { isMaster } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import { isLocalFileId } from '../core/objects/files.ts'
import type { Policy } from '../core/policy.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

type Path = readonly (string | number)[]
/** Where an object is named, below the value looked at; undefined = nowhere. Made only once it is found. */
type FoundPath = Path | undefined

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
  return who === 'all_keys' || (who === 'master_key' && isMaster(caller))
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

function namedIn(body: JsonBody): FoundPath {
  for (const field of body.names()) {
    const look = looks.get(field)
    if (!look || !isWorthALook(body, field)) continue
    const found = under(field, look(body.get(field)))
    if (found) return found
  }
  return undefined
}

/** By the top-level field. */
const looks: ReadonlyMap<string, (value: unknown) => FoundPath> = new Map([
  ['messages', inMessages],
  ['input', inMessages],
  ['contents', inContents],
  ['tools', inTools],
  ['systemInstruction', inContents],
  ['system_instruction', inContents],
  ['prompt', value => (isObject(value) ? idIn(value, 'id') : undefined)],
  ['container', inContainer],
  ['cachedContent', asId],
  ['cached_content', asId],
  ['vector_store_ids', asIds],
  ['generateContentRequest', inGenerateRequest],
  ['generate_content_request', inGenerateRequest],
])

/** The request whose tokens Gemini's `countTokens` counts: fields of the top level, one level deeper. */
function inGenerateRequest(value: unknown): FoundPath {
  if (!isObject(value)) return undefined
  for (const field of Object.keys(value)) {
    const found = under(field, looks.get(field)?.(value[field]))
    if (found) return found
  }
  return undefined
}

/** Smaller fields are parsed anyway. */
const parsedBytesMax = 256 * 1024
/** One of these is in every field that names an object, or an address. `\u00`: an ASCII letter may be an escape. */
const marks = ['file', 'vector_store', 'container', 'skill', 'tunnel', 'retrieval', 'cached', '\\u00'].map(text =>
  Buffer.from(text, 'latin1'),
)
/** As in `storage`, in any case. */
const addressMark = /(?:gs|s3|files?|abfss?|azureml)[:/]|generativelanguage/i

const hasMark = (part: Buffer): boolean =>
  marks.some(mark => part.includes(mark)) || addressMark.test(part.toString('latin1'))

/**
 * Of the beginning of a long string: whether its mark may come later. An address has spaces, escapes or a scheme there;
 * `data:` holds what it is about.
 */
const mayBeAddress = (beginning: string): boolean => !/^(?:data:|[!-[\]-~][^:\\]*$)/.test(beginning)

function isWorthALook(body: JsonBody, field: string): boolean {
  if (body.sizeOf(field) <= parsedBytesMax) return true
  // A stored prompt has no mark but its kind: all other prompts are texts or lists.
  return field === 'prompt' ? body.beginningOf(field, 1) === '{' : body.mentions(hasMark, mayBeAddress)
}

function under(step: string | number, found: FoundPath): FoundPath {
  return found && [step, ...found]
}

function first(list: unknown, look: (value: Json) => FoundPath): FoundPath {
  if (!Array.isArray(list)) return undefined
  for (let at = 0; at < list.length; at++) {
    const one: unknown = list[at]
    const found = isObject(one) ? look(one) : undefined
    if (found) return [at, ...found]
  }
  return undefined
}

/** Messages of chats, and items of Responses, whose results have `output`; some bring `tools`. */
function inMessages(list: unknown): FoundPath {
  return first(list, inMessage)
}

function inMessage(message: Json): FoundPath {
  const { content, output, tools } = message
  if (typeof content === 'string' && output === undefined && tools === undefined) return undefined
  return (
    inPart(message) ??
    under('output', isObject(output) ? inPart(output) : first(output, inPart)) ??
    (tools === undefined ? undefined : under('tools', inTools(tools)))
  )
}

/** Blocks in which the provider itself names what it has made: they are history, and give access to nothing. */
const isResult = (type: unknown): boolean => typeof type === 'string' && /_(result|output|call)$/.test(type)

function inPart(part: Json): FoundPath {
  const { type, file, source, content } = part
  return (
    (type === 'text' || isResult(type) ? undefined : rawFile(part)) ??
    (isObject(file) ? under('file', rawFile(file)) : undefined) ??
    (isObject(source) ? under('source', inSource(source)) : undefined) ??
    under('content', first(content, inPart))
  )
}

function inSource(source: Json): FoundPath {
  return rawFile(source) ?? under('content', first(source.content, inPart))
}

const addresses = ['url', 'file_url', 'image_url', 'video_url', 'audio_url', 'file_data']

function rawFile(holder: Json): FoundPath {
  const { file_id: id } = holder
  if (typeof id === 'string' && id !== '' && !isLocalFileId(id)) return ['file_id']
  for (const name of addresses) {
    const value = holder[name]
    if (typeof value === 'string' && isStored(value)) return [name]
    if (isObject(value) && typeof value.url === 'string' && isStored(value.url)) return [name, 'url']
  }
  return undefined
}

/** Read with the credentials or from the disk of the upstream: buckets, the Files API of Gemini, files of a server. */
const storage = /^\s*((gs|s3|file|abfss?|azureml):|files\/|https?:\/\/[^/]*generativelanguage\.googleapis\.com[/:])/i

const isStored = (address: string): boolean => storage.test(address)

function asId(value: unknown): FoundPath {
  return typeof value === 'string' && value !== '' ? [] : undefined
}

function idIn(holder: Json, name: string): FoundPath {
  return under(name, asId(holder[name]))
}

function asIds(list: unknown): FoundPath {
  if (!Array.isArray(list)) return undefined
  const at = list.findIndex(id => typeof id === 'string' && !isLocalFileId(id))
  return at < 0 ? undefined : [at]
}

/** Skills of an account, at Anthropic and at OpenAI, which names its own with the same type. */
const isOwnSkill = ({ type, skill_id: id }: Json): boolean =>
  type === 'custom' || (type === 'skill_reference' && !(typeof id === 'string' && id.startsWith('openai-')))

/** A container: an id, or an object with one, with files and skills; the vendor's own skills are for all accounts. */
function inContainer(value: unknown): FoundPath {
  if (!isObject(value)) return asId(value)
  return (
    idIn(value, 'id') ??
    idIn(value, 'container_id') ??
    under('file_ids', asIds(value.file_ids)) ??
    under(
      'skills',
      first(value.skills, skill => (isOwnSkill(skill) ? idIn(skill, 'skill_id') : undefined)),
    )
  )
}

function inTools(list: unknown): FoundPath {
  return first(Array.isArray(list) ? list : [list], inTool)
}

/** Of functions there is nothing to see: their parameters may have any names. */
function inTool(tool: Json): FoundPath {
  if (tool.type === 'function' || tool.type === 'custom') return undefined
  const { environment, input_image_mask: mask } = tool
  return (
    under('vector_store_ids', asIds(tool.vector_store_ids)) ??
    idIn(tool, 'tunnel_id') ??
    under('container', inContainer(tool.container)) ??
    (isObject(environment) ? under('environment', inContainer(environment)) : undefined) ??
    (isObject(mask) ? under('input_image_mask', rawFile(mask)) : undefined) ??
    storeTool(tool)
  )
}

/** Gemini's tools that read stores of the account. */
function storeTool(tool: Json): FoundPath {
  const name = ['fileSearch', 'file_search', 'retrieval'].find(one => isObject(tool[one]))
  return name === undefined ? undefined : [name]
}

/** Gemini's contents: one or several, in camel or snake case; clients may leave `parts` out. */
function inContents(value: unknown): FoundPath {
  if (Array.isArray(value)) return first(value, content => inContent(content) ?? inGeminiPart(content))
  return isObject(value) ? inContent(value) : undefined
}

function inContent({ parts }: Json): FoundPath {
  return under(
    'parts',
    Array.isArray(parts) ? first(parts, inGeminiPart) : isObject(parts) ? inGeminiPart(parts) : undefined,
  )
}

function inGeminiPart(part: Json): FoundPath {
  const data = part.fileData ?? part.file_data
  if (isObject(data)) {
    const uri = data.fileUri ?? data.file_uri
    if (typeof uri === 'string' && !isPublic(uri)) return ['fileData', 'fileUri']
  }
  const response = part.functionResponse ?? part.function_response
  return isObject(response) ? under('functionResponse', inContent(response)) : undefined
}

const isPublic = (uri: string): boolean => /^https?:\/\//i.test(uri) && !isStored(uri)
