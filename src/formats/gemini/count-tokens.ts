/** `countTokens` (ai.google.dev/api/tokens): contents alone, or a whole request with its tools and instructions. */
import type { ChatRequest } from '../../core/chat.ts'
import type { Inspection, UnaryFormat } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, isObject, parseChecked, ProblemList } from '../common/field-checks.ts'
import type { ProblemList as Problems } from '../common/field-checks.ts'
import { decodeFields } from './decode.ts'
import { geminiErrorBody } from './error.ts'
import { noForward } from './inner-model-name.ts'
import { checkGenerateFields, generateChecks, inspectGenerate } from './inspect.ts'
import { camel, checksOf } from './json-names.ts'

function checkInner(value: unknown, problems: Problems): void {
  if (isObject(value)) checkGenerateFields(value, problems)
  else problems.wrong(['generateContentRequest'], 'an object with `contents`', value)
}

const innerChecks = checksOf({ generateContentRequest: checkInner })
const hasInner = (body: JsonBody): boolean => body.has('generateContentRequest') || body.has('generate_content_request')

function inspect(body: JsonBody): Inspection {
  if (!hasInner(body)) return inspectGenerate(body)
  const list = new ProblemList()
  checkFields(body, innerChecks, list)
  if (body.has('contents')) list.add(['contents'], 'send `contents` or `generateContentRequest`, not both', 'invalid')
  return { model: '', stream: false, endUser: '', problems: list.problems }
}

function decode(body: JsonBody): ChatRequest {
  if (!hasInner(body)) return decodeFields(parseChecked(body, generateChecks))
  const { generateContentRequest: inner } = camel(parseChecked(body, innerChecks))
  return decodeFields(isObject(inner) ? inner : {})
}

/** Never forwarded: see `noForward`. */
export const geminiCountTokens: UnaryFormat<'count-tokens'> = {
  dialect: 'gemini-named-inside',
  operation: 'count-tokens',
  inspect,
  decode,
  encode: ({ inputTokens }) => ({ totalTokens: inputTokens }),
  errorBody: geminiErrorBody,
  forward: noForward,
}
