/** Checks of a request that need no model (ai.google.dev/api/generate-content). */
import type { Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, ProblemList } from '../common/field-checks.ts'
import { isGiven } from '../common/field-table.ts'
import { generateTable } from './fields.ts'
import { checkSpelling } from './json-names.ts'
import type { Json } from '../../lib/json/json-values.ts'

const missingContents = '`contents` is missing; send [{"role": "user", "parts": [{"text": ...}]}]'

/** The model stands in the path, and so does whether the answer is streamed. */
export function inspectGenerate(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, generateTable.checks, list)
  checkSpelling(Object.fromEntries(body.names().map(name => [name, true])), [], list)
  if (!isGiven(body, 'contents')) {
    const remedy = body.has('messages') ? '; this is an OpenAI body (`messages`): send it to /v1/chat/completions' : ''
    list.add(['contents'], missingContents + remedy, 'missing')
  }
  return {
    model: '',
    stream: false,
    endUser: '',
    ...(list.misplacedMedia && { misplacedMedia: true }),
    problems: list.problems,
  }
}

/** A whole request inside another one (`countTokens`). */
export function checkGenerateFields(fields: Json, problems: ProblemList): void {
  checkSpelling(fields, [], problems)
  for (const [name, value] of Object.entries(fields))
    if (value !== null && !problems.full) generateTable.checks.get(name)?.(value, problems)
  if (fields.contents == null) problems.add(['contents'], missingContents, 'missing')
}
