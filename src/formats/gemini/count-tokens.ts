/** `countTokens` (ai.google.dev/api/tokens): contents alone, or a whole request with its tools and instructions. */
import type { ChatRequest } from '../../core/hub/chat.ts'
import * as type from '../../core/dialects/fields.ts'
import type { Inspection, UnaryFormat } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, parseChecked, ProblemList } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { CheckedField } from '../common/field-checks.ts'
import { fieldTable } from '../common/field-table.ts'
import { decodeFields } from './decode.ts'
import { geminiErrorBody } from './error.ts'
import { noForward } from './inner-model-name.ts'
import { generateTable } from './fields.ts'
import { checkGenerateFields, inspectGenerate } from './inspect.ts'
import { camel, snakeName } from './json-names.ts'

function checkInner(value: unknown, problems: ProblemList): void {
  if (isObject(value)) checkGenerateFields(value, problems)
  else problems.wrong(['generateContentRequest'], 'an object with `contents`', value)
}

const inner: CheckedField<ChatRequest> = {
  name: 'generateContentRequest',
  schema: type.bodySchema(generateTable.fields),
  check: checkInner,
  description: 'It is a whole request, in place of `contents`.',
}
const innerTable = fieldTable([inner], { alias: snakeName })
/** All that a body may hold: one of `contents` and `generateContentRequest` has to be there. */
export const countFields: readonly CheckedField<ChatRequest>[] = [
  inner,
  ...generateTable.fields.map(({ required: _required, ...field }) => field),
]
const countTable = fieldTable(countFields, { alias: snakeName })
const hasInner = (body: JsonBody): boolean => body.has('generateContentRequest') || body.has('generate_content_request')

function inspect(body: JsonBody): Inspection {
  if (!hasInner(body)) return inspectGenerate(body)
  const list = new ProblemList()
  checkFields(body, innerTable.checks, list)
  if (body.has('contents')) list.add(['contents'], 'send `contents` or `generateContentRequest`, not both', 'invalid')
  return { model: '', stream: false, endUser: '', problems: list.problems }
}

function decode(body: JsonBody): ChatRequest {
  if (!hasInner(body)) return decodeFields(parseChecked(body))
  const { generateContentRequest: inner } = camel(parseChecked(body))
  return decodeFields(isObject(inner) ? inner : {})
}

/** Never forwarded: see `noForward`. */
export const geminiCountTokens: UnaryFormat<'count-tokens'> = {
  dialect: 'gemini-named-inside',
  operation: 'count-tokens',
  fieldNames: countTable.names,
  inspect,
  decode,
  encode: ({ inputTokens }) => ({ totalTokens: inputTokens }),
  errorBody: geminiErrorBody,
  forward: noForward,
}
