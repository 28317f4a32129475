/** A conversation, kept in the memory of the page. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { streamAnswer } from './stream.ts'
import type { Answer } from './stream.ts'

/** A question and its answer. */
export interface Turn extends Answer {
  readonly question: string
  /** The public name that answered. */
  readonly model: string
  readonly state: 'streaming' | 'done' | 'stopped' | 'failed'
  /** With the state `failed`. */
  readonly error?: unknown
  readonly tookMs: number | null
}

export function useChat() {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const running = useRef<AbortController | null>(null)
  // What is under way ends with the page: an answer that is not read costs all the same.
  useEffect(() => () => running.current?.abort(), [])

  /** Asks after these turns; what came after them is dropped. */
  const ask = useCallback(async (before: readonly Turn[], question: string, model: string) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const startedMs = performance.now()
    let turn: Turn = {
      question,
      model,
      state: 'streaming',
      text: '',
      thinking: '',
      inputTokens: null,
      outputTokens: null,
      tookMs: null,
    }
    const show = (changed: Partial<Turn>) => {
      turn = { ...turn, ...changed }
      // Another question has taken its place.
      if (running.current === controller) setTurns([...before, turn])
    }
    show({})
    const messages = before.flatMap(one => [
      { role: 'user' as const, content: one.question },
      ...(one.text === '' ? [] : [{ role: 'assistant' as const, content: one.text }]),
    ])
    messages.push({ role: 'user', content: question })
    const end: Partial<Turn> = await streamAnswer({ model, messages, signal: controller.signal }, show).then(
      () => ({ state: 'done' }),
      (error: unknown) => (controller.signal.aborted ? { state: 'stopped' } : { state: 'failed', error }),
    )
    show({ ...end, tookMs: performance.now() - startedMs })
  }, [])

  const stop = useCallback(() => running.current?.abort(), [])
  const clear = useCallback(() => {
    running.current?.abort()
    running.current = null
    setTurns([])
  }, [])
  return { turns, ask, stop, clear, isStreaming: turns.at(-1)?.state === 'streaming' }
}
