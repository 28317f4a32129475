/** What the matrix wants of every official client, in words of none of them. */

/** An answer as the client understood it. */
export interface Said {
  readonly text: string
  /** The model came to its end by itself. */
  readonly stopped: boolean
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface StreamWish {
  readonly model: string
  readonly said: string
  readonly signal?: AbortSignal
  /** Called for every piece of text. */
  onText(piece: string): void
}

export interface SdkClient {
  readonly name: string
  /** It has no way to ask for usage in a stream. */
  readonly silentStreams?: true
  /** A whole answer to a message of the user. Must not retry. */
  say(model: string, said: string): Promise<Said>
  /** A streamed answer; rejects when the stream breaks or is aborted. */
  stream(wish: StreamWish): Promise<Said>
  /**
   * Two turns: the model calls `weatherTool` (in a streamed answer, when `streamed`), and the result goes back the way
   * the client's own examples do it. Gives the city of the call and the last answer.
   */
  useTool(model: string, streamed: boolean): Promise<{ city: unknown; answer: string }>
  /** A text and a picture. */
  see(model: string): Promise<string>
  /** The HTTP status of an error of this client's own classes; undefined = it is none of them. */
  statusOf(error: unknown): number | undefined
}

/** Connects a client to a gateway. */
export type Connect = (url: string, key: string) => SdkClient

export const weatherTool = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const

export const askForTool = 'Weather in Paris? use the tool'
export const toolResult = 'sunny, 21 degrees'
export const askAboutPicture = 'What is this?'
/** One pixel, PNG, base64. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const pixelUrl = `data:image/png;base64,${pixel}`
export const outputTokensMax = 2000
