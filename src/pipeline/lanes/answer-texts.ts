/**
 * Lets policies read and change the texts of answers that are no hub events: transcripts, prompts that a model has
 * revised, ranked documents. Such an answer goes out as a whole.
 */
import type { Call } from '../../core/call.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { ChangeAnswerTexts } from '../../core/policy.ts'
import type { AnswerHead } from '../../core/transport.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { SseSplitter } from '../../lib/sse.ts'
import type { CallPolicies } from '../admission/admission.ts'
import type { LateAnswer } from './filtered-format.ts'
import { WrappedRelay } from './wrapped-relay.ts'
import { utf8Bytes } from '../../lib/text.ts'

type Output = Uint8Array | string

/** The part of an attempt that reads the upstream's answer. */
interface AnswerReader {
  answer(bytes: Uint8Array, head: AnswerHead): { readonly body: Output; readonly usage: Usage | undefined }
  readonly late?: LateAnswer | undefined
  relay(contentType: string): StreamRelay
}

/** The attempt, with the texts of its answer as the policies want them; the same where no policy reads them. */
export function withChangedTexts<Attempt extends AnswerReader>(
  attempt: Attempt,
  call: Call,
  { answerTexts }: CallPolicies,
): Attempt {
  let changes: ChangeAnswerTexts[] | undefined
  for (const policy of answerTexts) {
    const change = policy.answerTexts(call)
    if (change) (changes ??= []).push(change)
  }
  return changes ? changedBy(changes, attempt) : attempt
}

/** A separate function, so that calls whose texts no policy reads allocate no closures. */
function changedBy<Attempt extends AnswerReader>(changes: readonly ChangeAnswerTexts[], attempt: Attempt): Attempt {
  let text: () => string = () => ''
  return {
    ...attempt,
    answer(bytes, head) {
      const answer = attempt.answer(bytes, head)
      text = () => textOf(answer.body)
      return answer
    },
    late: { holds: () => true, text: async () => changedAnswer(text(), changes) },
    relay(contentType) {
      const relay = new CollectingRelay(attempt.relay(contentType))
      text = () => relay.text()
      return relay
    },
  }
}

const textOf = (output: Output): string => (typeof output === 'string' ? output : new TextDecoder().decode(output))

/** Reads all of a stream, and gives none of it out. */
class CollectingRelay extends WrappedRelay {
  readonly #pieces: Output[] = []

  /** Of the whole stream. */
  text(): string {
    return textOf(Buffer.concat(this.#pieces.map(utf8Bytes)))
  }

  push(bytes: Uint8Array): string {
    this.#pieces.push(this.relay.push(bytes))
    return ''
  }

  end(): string {
    this.#pieces.push(this.relay.end())
    return ''
  }
}

async function changedAnswer(text: string, changes: readonly ChangeAnswerTexts[]): Promise<string> {
  const change = async (texts: readonly string[]): Promise<readonly string[]> => {
    let now = texts
    for (const one of changes) now = await one(now)
    return now
  }
  try {
    if (/^\s*\{/.test(text)) return JSON.stringify(await changedJson(JSON.parse(text) as object, change))
    if (/^(?:event|data|id):/m.test(text.slice(0, 200))) return await changedEvents(text, change)
    return (await change([text]))[0]!
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw toGatewayError(thrown)
    throw new GatewayError('upstream-broken', "the upstream's answer is no JSON, so that policies cannot read it")
  }
}

type Change = (texts: readonly string[]) => Promise<readonly string[]>

/** Words of the protocol, and data that is no text. */
const notTexts: ReadonlySet<string> = new Set(
  'b64_json url id object type model created format task language background output_format quality size event'.split(
    ' ',
  ),
)
/** They repeat the text in parts, in which what was found in the whole is not found again. */
const partsOfText = ['words', 'segments', 'logprobs']

/** Where texts stand in a value. */
interface TextField {
  readonly holder: Record<string, unknown>
  readonly name: string
  readonly text: string
}

function textFieldsIn(value: unknown, fields: TextField[] = []): TextField[] {
  if (typeof value !== 'object' || value === null) return fields
  for (const [name, one] of Object.entries(value)) {
    if (typeof one !== 'string') textFieldsIn(one, fields)
    else if (!notTexts.has(name)) fields.push({ holder: value as Record<string, unknown>, name, text: one })
  }
  return fields
}

async function changedJson(value: object, change: Change): Promise<object> {
  const fields = textFieldsIn(value)
  const texts = await change(fields.map(one => one.text))
  if (texts.every((text, at) => text === fields[at]!.text)) return value
  for (const [at, { holder, name }] of fields.entries()) holder[name] = texts[at]
  for (const name of partsOfText) delete (value as Record<string, unknown>)[name]
  return value
}

/** Pieces of one text are joined in the first of them: what is found may lie over several. */
async function changedEvents(text: string, change: Change): Promise<string> {
  const frames = new SseSplitter(text.length + 1).push(Buffer.from(`${text}\n\n`))
  const values = frames.map(({ data }) => (data === '[DONE]' ? undefined : (JSON.parse(data) as object)))
  const fields = values.flatMap(value => (value ? textFieldsIn(value) : []))
  const isPiece = ({ name }: TextField) => name === 'delta' || name === 'content'
  const pieces = fields.filter(isPiece)
  const others = fields.filter(one => !isPiece(one))
  const joined = pieces.map(one => one.text).join('')
  const [whole, ...rest] = await change([joined, ...others.map(one => one.text)])
  const isChanged = whole !== joined || rest.some((one, at) => one !== others[at]!.text)
  if (!isChanged) return text
  for (const [at, { holder, name }] of pieces.entries()) holder[name] = at === 0 ? whole : ''
  for (const [at, { holder, name }] of others.entries()) holder[name] = rest[at]
  for (const value of values) if (value) for (const name of partsOfText) delete (value as Record<string, unknown>)[name]
  return frames
    .map(({ event, data }, at) => {
      const shown = values[at] ? JSON.stringify(values[at]) : data
      return `${event === undefined ? '' : `event: ${event}\n`}data: ${shown}\n\n`
    })
    .join('')
}
