import { lazy, Suspense } from 'react'
import { untilLoaded } from '../../lib/load-part.ts'
import type { Message } from './toast-list.tsx'

/** By then the first view is done on slow machines, too. */
const loadAfterMs = 3000

/** What was said before there was a place for it. */
const waiting: Message[] = []
let load = (): void => undefined
const hold = (message: Message): void => {
  waiting.push(message)
  load()
}
let show = hold

/** Says what happened, from anywhere: "Key ci-bot deleted". An error stays until it is closed. */
export function toast(title: string, { description, kind = 'done' }: Partial<Omit<Message, 'title'>> = {}): void {
  show({ title, description, kind })
}

function ready(shows: typeof show): () => void {
  show = shows
  for (const message of waiting.splice(0)) shows(message)
  return () => {
    show = hold
  }
}

/** Not part of the first view, but there before it is needed: what is said may be that the gateway is away. */
const List = lazy(async () => {
  await new Promise<void>(resolve => {
    load = resolve
    setTimeout(resolve, waiting.length > 0 ? 0 : loadAfterMs)
  })
  return untilLoaded(() => import('./toast-list.tsx'))
})

/** Beside the pages, once. */
export function Toasts() {
  return (
    <Suspense>
      <List onReady={ready} />
    </Suspense>
  )
}
