/** Moderation (OpenAI API reference, "Create moderation"). */
import { GatewayError } from '../../core/errors.ts'
import * as type from '../../core/dialects/fields.ts'
import type { Inspection, UnaryFormat } from '../../core/format.ts'
import type {
  ModerationPart,
  ModerationsRequest,
  ModerationsResult,
  ModerationVerdict,
} from '../../core/hub/moderations.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, parseChecked, ProblemList, textOf } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Path } from '../common/field-checks.ts'
import { checkRequired, fieldTable, readFields } from '../common/field-table.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { readAnswerWith } from '../common/whole-answer.ts'
import { forwardAnswer } from './forward.ts'

const kinds = 'a string, an array of strings, or an array of parts with `text` or `image_url`'

/** Every category of the API, and whether pictures are classified by it too (`category_applied_input_types`). */
const categories: Readonly<Record<string, boolean>> = {
  hate: false,
  'hate/threatening': false,
  harassment: false,
  'harassment/threatening': false,
  illicit: false,
  'illicit/violent': false,
  'self-harm': true,
  'self-harm/intent': true,
  'self-harm/instructions': true,
  sexual: true,
  'sexual/minors': false,
  violence: true,
  'violence/graphic': true,
}

/** The fields of the body, with their checks. */
export const moderationTable = fieldTable<ModerationsRequest>([
  { name: 'model', schema: type.text },
  { name: 'input', schema: type.anyOf(type.text, type.texts, type.objects), required: kinds, check: checkInput },
])

function checkInput(value: unknown, problems: ProblemList): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong(['input'], kinds, value)
  if (value.length === 0) return problems.add(['input'], `\`input\` must not be empty; send ${kinds}`, 'out_of_range')
  const isTexts = typeof value[0] === 'string'
  for (let at = 0; at < value.length && !problems.full; at++) {
    const one: unknown = value[at]
    if (isTexts) {
      if (typeof one !== 'string') problems.wrong(['input', at], 'a string like the first entry', one)
    } else checkPart(one, ['input', at], problems)
  }
}

function checkPart(part: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(part)) return problems.wrong(path, 'a part with `type` "text" or "image_url"', part)
  if (part.type === 'text') {
    if (typeof part.text !== 'string') problems.wrong([...path, 'text'], 'a string', part.text)
  } else if (part.type === 'image_url') {
    const { image_url: image } = part
    if (!isObject(image) || typeof image.url !== 'string')
      problems.wrong([...path, 'image_url'], 'an object with a `url`', image)
  } else problems.unknownValue([...path, 'type'], '"text" or "image_url"', part.type)
}

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, moderationTable.checks, list)
  checkRequired(body, moderationTable, list)
  return { model: textOf(body, 'model'), stream: false, endUser: textOf(body, 'user'), problems: list.problems }
}

function decode(body: JsonBody): ModerationsRequest {
  const fields = parseChecked(body)
  const request: ModerationsRequest = {
    model: textOf(body, 'model'),
    inputs: inputsOf(fields.input),
    extra: { format: 'openai-moderations', fields: {} },
  }
  readFields(fields, moderationTable, request, request.extra.fields)
  return request
}

/** Strings are classified one by one, parts together. */
function inputsOf(input: unknown): ModerationPart[][] {
  if (typeof input === 'string') return [[{ type: 'text', text: input }]]
  const list = input as unknown[]
  if (typeof list[0] === 'string') return list.map(text => [{ type: 'text', text: text as string }])
  return [list.map(part => partOf(part as Record<string, unknown>))]
}

function partOf(part: Record<string, unknown>): ModerationPart {
  if (part.type === 'text') return { type: 'text', text: part.text as string }
  const { url } = part.image_url as { url: string }
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return { type: 'image', source: mediaType !== undefined && data !== undefined ? { data, mediaType } : { url } }
}

/** All of OpenAI's categories, and the others that the upstream reported. */
function encodeVerdict(verdict: ModerationVerdict, parts: readonly ModerationPart[]): object {
  const names = Object.keys(categories)
  const flags: [string, boolean][] = names.map(name => [name, verdict.categories[name] ?? false])
  const scores: [string, number][] = names.map(name => [name, verdict.scores[name] ?? 0])
  const isKnown = (name: string) => Object.hasOwn(categories, name)
  const hasText = parts.some(part => part.type === 'text')
  const hasImage = parts.some(part => part.type === 'image')
  return {
    flagged: verdict.flagged,
    categories: Object.fromEntries([
      ...flags,
      ...Object.entries(verdict.categories).filter(([name]) => !isKnown(name)),
    ]),
    category_scores: Object.fromEntries([
      ...scores,
      ...Object.entries(verdict.scores).filter(([name]) => !isKnown(name)),
    ]),
    category_applied_input_types: Object.fromEntries(
      // A category without a verdict was applied to nothing.
      names.map(name => {
        const isReported = Object.hasOwn(verdict.scores, name) || Object.hasOwn(verdict.categories, name)
        const types = [...(hasText ? ['text'] : []), ...(hasImage && categories[name] ? ['image'] : [])]
        return [name, isReported ? types : []]
      }),
    ),
  }
}

/** Throws `upstream-broken` when there is not one verdict for each input: a missing one must not look harmless. */
function encode({ verdicts }: ModerationsResult, model: string, request: ModerationsRequest): object {
  if (verdicts.length !== request.inputs.length)
    throw new GatewayError(
      'upstream-broken',
      `the upstream answered ${verdicts.length} verdicts for ${request.inputs.length} inputs`,
    )
  return {
    id: `modr-${crypto.randomUUID().replaceAll('-', '')}`,
    model,
    results: verdicts.map((verdict, at) => encodeVerdict(verdict, request.inputs[at]!)),
  }
}

/** `/v1/moderations`. */
export const openaiModerations: UnaryFormat<'moderations'> = {
  dialect: 'openai-moderations',
  operation: 'moderations',
  fieldNames: moderationTable.names,
  inspect,
  overrides: readOverrides,
  decode,
  encode,
  errorBody: openaiErrorBody,
  forward: {
    edits: commonEdits,
    answer: (bytes, publicModel) => forwardAnswer(readAnswerWith(bytes, 'results'), publicModel, []),
    relay() {
      throw new GatewayError('internal', 'moderations are never streamed')
    },
  },
}
