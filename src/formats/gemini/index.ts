/** Gemini's API as Google's clients write and read it (ai.google.dev/api). The model stands in the path. */
import type { ChatFormat } from '../../core/format.ts'
import { encodeGenerate } from './answer.ts'
import { decodeGenerate } from './decode.ts'
import { arrayFraming, sseFraming } from './stream-framing.ts'
import type { MakeFraming } from './stream-framing.ts'
import { geminiErrorBody } from './error.ts'
import { generateTable } from './fields.ts'
import { generateForward } from './forward.ts'
import { inspectGenerate } from './inspect.ts'
import { withMaximumOfConfig } from './maximum.ts'
import { GenerateWriter } from './writer.ts'

export { geminiCountTokens } from './count-tokens.ts'
export { geminiBatchEmbedContents, geminiEmbedContent } from './embeddings.ts'
export { geminiErrorBody } from './error.ts'
export { geminiModelEntry } from './models.ts'

const generate = (framing: MakeFraming): ChatFormat => ({
  dialect: 'gemini-generate',
  operation: 'chat',
  fieldNames: generateTable.names,
  inspect: inspectGenerate,
  decode: decodeGenerate,
  encode: encodeGenerate,
  withMaximum: withMaximumOfConfig,
  writer: (model, request) => new GenerateWriter(model, request, framing()),
  errorBody: geminiErrorBody,
  errorEvent: error => framing().error(JSON.stringify(geminiErrorBody(error))),
  forward: generateForward(framing),
})

/** `generateContent`, and `streamGenerateContent` with `alt=sse`. */
export const geminiGenerate: ChatFormat = generate(sseFraming)

/** `streamGenerateContent` without `alt=sse`: one JSON array, kept alive by white space. */
export const geminiGenerateArray: ChatFormat = {
  ...generate(arrayFraming),
  streaming: { contentType: 'application/json', heartbeat: '\n' },
}
