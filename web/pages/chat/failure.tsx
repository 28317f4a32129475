import { useEffect, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ServerSays } from '../../components/states.tsx'
import { Ago } from '../../components/values.tsx'
import { refusalText } from '../../strings/index.ts'
import { t } from '../chat.page.ts'
import type { StringKey } from '../chat.page.ts'
import type { Message } from './tree.ts'

interface FailureProps {
  readonly error: NonNullable<Message['content']['error']>
  readonly onRetry: (() => void) | undefined
}

/** What the person has to know first; everything else is a failure of the answer. */
const titles: Readonly<Record<string, StringKey>> = {
  rate_limit_exceeded: 'chat.limited',
  budget_exceeded: 'chat.overBudget',
  content_policy_violation: 'chat.blocked',
  context_length_exceeded: 'chat.tooMuch',
  interrupted: 'chat.cut',
  cut: 'chat.cut',
}

/** Why there is no answer, or not all of it: the gateway's own text names the limit and its remedy. */
export function Failure({ error: { code, message, retry_at }, onRetry }: FailureProps) {
  const isWaiting = useIsBefore(retry_at)
  const sentence = refusalText({ code, message })
  return (
    <div role="alert" className="flex flex-col gap-2 border-l-2 border-bad pl-3">
      <p className="font-semibold text-bad">{t(titles[code] ?? 'chat.failed')}</p>
      <p className="break-words">{sentence}</p>
      {sentence !== message && <ServerSays message={message} />}
      {retry_at && isWaiting && (
        <p className="text-muted">
          {t('chat.againFrom')} <Ago at={retry_at} />
        </p>
      )}
      {onRetry && (
        <div>
          <Button busy={false} onClick={onRetry} disabled={isWaiting}>
            {t('all.retry')}
          </Button>
        </div>
      )}
    </div>
  )
}

/** true until the moment has come; what is not known has come. */
function useIsBefore(time: string | undefined): boolean {
  const atMs = time === undefined ? 0 : Date.parse(time)
  const [isBefore, setBefore] = useState(() => atMs > Date.now())
  useEffect(() => {
    if (!isBefore) return undefined
    // The longest that a timer of a browser waits.
    const timer = setTimeout(() => setBefore(atMs > Date.now()), Math.min(atMs - Date.now(), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  }, [atMs, isBefore])
  return isBefore
}
