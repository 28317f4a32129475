/** Gemini's API as Google's clients write and read it (ai.google.dev/api). The model stands in the path. */
import type { ChatFormat } from '../../core/format.ts'
import { encodeGenerate } from './answer.ts'
import { decodeGenerate } from './decode.ts'
import { arrayDress, sseDress } from './stream-framing.ts'
import type { MakeDress } from './stream-framing.ts'
import { geminiErrorBody } from './error.ts'
import { generateForward } from './forward.ts'
import { inspectGenerate } from './inspect.ts'
import { GenerateWriter } from './writer.ts'

export { geminiCountTokens } from './count-tokens.ts'
export { geminiBatchEmbedContents, geminiEmbedContent } from './embeddings.ts'
export { geminiErrorBody } from './error.ts'
export { geminiModelEntry } from './models.ts'

const generate = (dress: MakeDress): ChatFormat => ({
  dialect: 'gemini-generate',
  operation: 'chat',
  inspect: inspectGenerate,
  decode: decodeGenerate,
  encode: encodeGenerate,
  writer: (model, request) => new GenerateWriter(model, request, dress()),
  errorBody: geminiErrorBody,
  errorEvent: error => dress().error(JSON.stringify(geminiErrorBody(error))),
  forward: generateForward(dress),
})

/** `generateContent`, and `streamGenerateContent` with `alt=sse`. */
export const geminiGenerate: ChatFormat = generate(sseDress)

/** `streamGenerateContent` without `alt=sse`: one JSON array, kept alive by white space. */
export const geminiGenerateArray: ChatFormat = {
  ...generate(arrayDress),
  streaming: { contentType: 'application/json', heartbeat: '\n' },
}
