/** The tags of a call, for the ledger: of its header, its body, its key and its team. Upstreams get none of them. */
import { tagsOfKey } from '../accounts/key.ts'
import type { Caller } from '../core/caller.ts'
import type { Call } from '../core/call.ts'
import { unprocessable } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { JsonBody } from '../lib/json/json-body.ts'

const tagsMax = 20
const tagLengthMax = 128
const fieldBytesMax = 65_536

/**
 * Sets `tags`. They come from the header `x-litellm-tags` (with commas between), from `tags` and from a list
 * `metadata.tags` of the body, and from the key. A list in `metadata` is taken out of it: upstreams accept texts only
 * there. Throws `unprocessable` for tags that are no texts, or too many or too long.
 */
export function callTags(): Policy {
  return { name: 'call-tags', stage: 'body', admit: readTags }
}

function readTags(call: Call): void {
  const { body, caller } = call
  const header = call.headers?.get('x-litellm-tags') ?? ''
  if (header !== '' || body?.has('tags') || body?.has('metadata')) return addOwnTags(call, header)
  const tags = tagsOf(caller)
  if (tags.length > 0) call.tags = tags
}

function addOwnTags(call: Call, header: string): void {
  const tags = new Set(tagsOf(call.caller))
  if (header !== '') addTags(tags, header.split(','), ['header', 'x-litellm-tags'])
  const { body } = call
  if (body?.has('tags')) addTags(tags, fieldOf(body, 'tags'), ['body', 'tags'])
  if (body?.has('metadata')) {
    const metadata = fieldOf(body, 'metadata')
    if (hasTagList(metadata)) {
      addTags(tags, metadata.tags, ['body', 'metadata', 'tags'])
      call.body = withoutTags(body, metadata)
    }
  }
  if (tags.size > 0) call.tags = [...tags]
}

/** undefined = too large to be read here: other checks see it. */
const fieldOf = (body: JsonBody, name: string): unknown =>
  body.sizeOf(name) > fieldBytesMax ? undefined : body.get(name)

const hasTagList = (metadata: unknown): metadata is Record<string, unknown> & { tags: unknown[] } =>
  typeof metadata === 'object' && metadata !== null && 'tags' in metadata && Array.isArray(metadata.tags)

function withoutTags(body: JsonBody, { tags: _, ...rest }: Record<string, unknown>): JsonBody {
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

const ofCallers = new WeakMap<Caller, readonly string[]>()

/** Of the key and of its team. Once for each caller. */
function tagsOf(caller: Caller): readonly string[] {
  let tags = ofCallers.get(caller)
  if (tags === undefined) {
    const { key, team } = caller
    // The team's first: a key with many tags of its own leaves none of them out.
    const texts = [...(team?.tags ?? []), ...tagsOfKey(key)]
    tags = [...new Set(texts.map(one => one.trim().slice(0, tagLengthMax)).filter(one => one !== ''))]
    ofCallers.set(caller, (tags = tags.slice(0, tagsMax)))
  }
  return tags
}
