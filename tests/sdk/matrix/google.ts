/** `@google/genai`, the major on `/v1` and the one before it on `/v1beta`. */
import { ApiError, GoogleGenAI } from '@google/genai'
import type { Content, GenerateContentResponse } from '@google/genai'
import { ApiError as ApiErrorThree, GoogleGenAI as GoogleGenAIThree } from 'google-genai-v3'
import { askAboutPicture, askForTool, pixel, toolResult, weatherTool } from './client.ts'
import type { Connect, Said, SdkClient } from './client.ts'

const { name: toolName, description, parameters } = weatherTool
const tools = [{ functionDeclarations: [{ name: toolName, description, parametersJsonSchema: parameters }] }]

function saidOf(text: string, last: GenerateContentResponse): Said {
  const { promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = last.usageMetadata ?? {}
  return {
    text,
    stopped: (last.candidates?.[0]?.finishReason as string) === 'STOP',
    inputTokens: promptTokenCount ?? -1,
    outputTokens: candidatesTokenCount + thoughtsTokenCount,
  }
}

/** The text of an answer without the warning that the client's `text` gives beside calls. */
const textOf = (answer: GenerateContentResponse): string =>
  (answer.candidates?.[0]?.content?.parts ?? []).map(part => (part.thought ? '' : (part.text ?? ''))).join('')

function connect(name: string, client: GoogleGenAI, statusOf: SdkClient['statusOf']): SdkClient {
  const pieces = async (
    stream: AsyncIterable<GenerateContentResponse>,
    onText: (piece: string) => void,
  ): Promise<GenerateContentResponse[]> => {
    const chunks: GenerateContentResponse[] = []
    for await (const chunk of stream) {
      chunks.push(chunk)
      if (textOf(chunk) !== '') onText(textOf(chunk))
    }
    return chunks
  }
  return {
    name,
    async say(model, said) {
      const answer = await client.models.generateContent({ model, contents: said })
      return saidOf(textOf(answer), answer)
    },
    async stream({ model, said, signal, onText }) {
      const stream = await client.models.generateContentStream({
        model,
        contents: said,
        config: { abortSignal: signal },
      })
      const chunks = await pieces(stream, onText)
      return saidOf(chunks.map(textOf).join(''), chunks.at(-1)!)
    },
    async useTool(model, streamed) {
      const contents: Content[] = [{ role: 'user', parts: [{ text: askForTool }] }]
      const ask = { model, contents, config: { tools } }
      // A streamed turn goes back as its pieces, as the client's own chats keep it.
      const turns = streamed
        ? await pieces(await client.models.generateContentStream(ask), () => {})
        : [await client.models.generateContent(ask)]
      const parts = turns.flatMap(turn => turn.candidates?.[0]?.content?.parts ?? []).filter(part => part.text !== '')
      const call = parts.find(part => part.functionCall)?.functionCall
      if (!call) throw new Error(`no call, but ${turns.map(textOf).join('')}`)
      const functionResponse = { id: call.id, name: call.name!, response: { output: toolResult } }
      contents.push({ role: 'model', parts }, { role: 'user', parts: [{ functionResponse }] })
      const answered = await client.models.generateContent({ model, contents, config: { tools } })
      return { city: call.args?.city, answer: textOf(answered) }
    },
    async see(model) {
      const parts = [{ text: askAboutPicture }, { inlineData: { mimeType: 'image/png', data: pixel } }]
      return textOf(await client.models.generateContent({ model, contents: [{ role: 'user', parts }] }))
    },
    statusOf,
  }
}

export const googleTwo: Connect = (url, key) =>
  connect('@google/genai 2', new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } }), error =>
    error instanceof ApiError ? error.status : undefined,
  )

export const googleThree: Connect = (url, key) =>
  connect(
    '@google/genai 3',
    new GoogleGenAIThree({ apiKey: key, httpOptions: { baseUrl: url } }) as unknown as GoogleGenAI,
    error => (error instanceof ApiErrorThree ? error.status : undefined),
  )
