/** Gemini's API as Google's clients write and read it (ai.google.dev/api). The model stands in the path. */
import type { ChatFormat } from '../core/format.ts'
import { encodeGenerate } from './gemini/answer.ts'
import { decodeGenerate } from './gemini/decode.ts'
import { arrayDress, sseDress } from './gemini/dress.ts'
import type { MakeDress } from './gemini/dress.ts'
import { geminiErrorBody } from './gemini/error.ts'
import { generateForward } from './gemini/forward.ts'
import { inspectGenerate } from './gemini/inspect.ts'
import { GenerateWriter } from './gemini/writer.ts'

export { geminiCountTokens } from './gemini/count-tokens.ts'
export { geminiBatchEmbedContents, geminiEmbedContent } from './gemini/embeddings.ts'
export { geminiErrorBody } from './gemini/error.ts'
export { geminiModelEntry } from './gemini/models.ts'

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
