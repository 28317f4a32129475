/**
 * What a call has for its row of the ledger: tags and an object of the client's own, of headers, body, key and team.
 * Upstreams get none of it.
 */
import { tagsOfKey } from '../access/key.ts'
import type { Caller } from '../core/caller.ts'
import type { CallInAdmission } from '../core/call.ts'
import { unprocessable } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { RequestHeaders } from '../core/request.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { isObject } from '../lib/json/json-values.ts'

const tagsMax = 20
const tagLengthMax = 128
const fieldBytesMax = 65_536
/** Names tags of a call, with commas between. */
export const tagsHeader = 'x-litellm-tags'
const notesHeader = 'x-litellm-spend-logs-metadata'
/** Of `spend_logs_metadata` in JSON: each row of the ledger holds it. */
const notesBytesMax = 4096

/**
 * Sets `tags` and `spendNotes`. Tags come from the header `x-litellm-tags` (with commas between), from `tags` and from
 * a list `metadata.tags` of the body, and from the key. A list in `metadata` is taken out of it: upstreams accept texts
 * only there. Notes are LiteLLM's `spend_logs_metadata`: of the header of this name (JSON), of `metadata` in the body,
 * and of the metadata of the key; what stands first counts. Throws `unprocessable` for tags that are no texts, or too
 * many or too long, for fields too large to look for them, and for notes that are no object, or too large.
 */
export function callTags(): Policy {
  return { name: 'call-tags', stage: 'body', admit: readTags }
}

function readTags(call: CallInAdmission): void {
  const { body, caller, headers } = call
  const header = headers?.get(tagsHeader) ?? ''
  const notes = headers?.get(notesHeader) ?? ''
  if (header !== '' || notes !== '' || body?.has('tags') || body?.has('metadata')) return addOwn(call, header, notes)
  const { tags, spendNotes } = ofCaller(caller)
  const named = tagsOfHeaders(call)
  if (named.length > 0) return setTags(call, new Set([...tags, ...named]), spendNotes)
  if (tags.length > 0) call.tags = tags
  if (spendNotes !== undefined) call.spendNotes = noteText(spendNotes)
}

function addOwn(call: CallInAdmission, header: string, notesOfHeader: string): void {
  const known = ofCaller(call.caller)
  const tags = new Set(known.tags)
  let notes = known.spendNotes
  if (header !== '') addTags(tags, header.split(','), ['header', tagsHeader])
  const { body } = call
  if (body?.has('tags')) addTags(tags, fieldOf(body, 'tags'), ['body', 'tags'])
  if (body?.has('metadata')) {
    const metadata = fieldOf(body, 'metadata')
    if (isObject(metadata)) {
      const { tags: list, spend_logs_metadata: ofBody, ...rest } = metadata
      if (Array.isArray(list)) addTags(tags, list, ['body', 'metadata', 'tags'])
      else if (list !== undefined) rest.tags = list
      if (isObject(ofBody)) notes = { ...notes, ...ofBody }
      else if (ofBody !== undefined) rest.spend_logs_metadata = ofBody
      if (Object.keys(rest).length < Object.keys(metadata).length) call.body = withMetadata(body, rest)
    }
  }
  if (notesOfHeader !== '') notes = { ...notes, ...readNotes(notesOfHeader) }
  for (const tag of tagsOfHeaders(call)) tags.add(tag)
  setTags(call, tags, notes)
}

function setTags(call: CallInAdmission, tags: ReadonlySet<string>, notes: Record<string, unknown> | undefined): void {
  if (tags.size > 0) call.tags = [...tags]
  if (notes !== undefined) call.spendNotes = noteText(notes)
}

/** The tags that `extra_spend_tag_headers` makes of the headers of a call. */
function tagsOfHeaders({ headers, models }: CallInAdmission): string[] {
  if (!headers) return []
  return models.settings.spendTagHeaders.flatMap(name => headerTag(headers, name) ?? [])
}

/** `NAME: VALUE`, as LiteLLM has it; undefined = the call has no such header. */
export function headerTag(headers: RequestHeaders, name: string): string | undefined {
  const value = headers.get(name)?.trim()
  return value ? `${name}: ${value}`.slice(0, tagLengthMax) : undefined
}

const refusedNotes = (msg: string) => unprocessable([{ loc: ['header', notesHeader], msg, type: 'invalid' }])

function readNotes(header: string): Record<string, unknown> {
  try {
    const notes: unknown = JSON.parse(header)
    if (isObject(notes)) return notes
  } catch {
    // The error below says it.
  }
  throw refusedNotes('must be an object in JSON, such as {"job": "nightly"}')
}

function noteText(notes: Record<string, unknown>): string {
  const text = JSON.stringify(notes)
  if (Buffer.byteLength(text) <= notesBytesMax) return text
  throw refusedNotes(`has more than ${notesBytesMax} bytes in JSON, with that of the body and the key; send less`)
}

/** Throws `unprocessable` for one that is too large to be read: tags in it would count in no budget. */
function fieldOf(body: JsonBody, name: string): unknown {
  if (body.sizeOf(name) <= fieldBytesMax) return body.get(name)
  const msg = `has more than ${fieldBytesMax} bytes, of which tags have to be read; send less`
  throw unprocessable([{ loc: ['body', name], msg, type: 'too_large' }])
}

function withMetadata(body: JsonBody, rest: Record<string, unknown>): JsonBody {
  const name = 'metadata'
  const isEmpty = Object.keys(rest).length === 0
  const edit = isEmpty ? { remove: name } : { set: name, json: JSON.stringify(rest) }
  return JsonBody.read(Buffer.concat(body.edited([edit])))
}

function addTags(tags: Set<string>, values: unknown, loc: readonly string[]): void {
  if (values == null) return
  const wrong = (msg: string) => unprocessable([{ loc: [...loc], msg, type: 'invalid' }])
  if (!Array.isArray(values)) throw wrong('must be a list of texts')
  for (const value of values as unknown[]) {
    if (typeof value !== 'string') throw wrong('must be a list of texts')
    const tag = value.trim()
    if (tag.length > tagLengthMax) throw wrong(`has a tag of more than ${tagLengthMax} characters; shorten it`)
    if (/[\u0000-\u001f\u007f]/.test(tag)) throw wrong('has a tag with a control character; take it out')
    if (tag !== '') tags.add(tag)
    if (tags.size > tagsMax) throw wrong(`makes more than ${tagsMax} tags with those of the key; send fewer`)
  }
}

interface CallerTags {
  readonly tags: readonly string[]
  /** undefined = its key has none. */
  readonly spendNotes: Record<string, unknown> | undefined
}

const ofCallers = new WeakMap<Caller, CallerTags>()

/** Of the key and of its team. Once for each caller. */
function ofCaller(caller: Caller): CallerTags {
  let known = ofCallers.get(caller)
  if (known === undefined) {
    const { key, team } = caller
    // The team's first: a key with many tags of its own leaves none of them out.
    const texts = [...(team?.tags ?? []), ...tagsOfKey(key)]
    const tags = [...new Set(texts.map(one => one.trim().slice(0, tagLengthMax)).filter(one => one !== ''))]
    const notes = key.metadata.spend_logs_metadata
    ofCallers.set(caller, (known = { tags: tags.slice(0, tagsMax), spendNotes: isObject(notes) ? notes : undefined }))
  }
  return known
}
