import clsx from 'clsx'
import { Check, Copy } from 'lucide-react'
import { useCopy } from '../lib/copy.ts'
import { t } from '../strings/index.ts'
import { Button } from './button.tsx'

/** Names of models and short ids are whole; UUIDs are not. */
const shownMax = 24

/** An id in a monospace face, shortened in the middle; a press copies all of it. */
export function Id({ id }: { readonly id: string }) {
  const { copied, copy } = useCopy()
  const short = id.length > shownMax ? `${id.slice(0, 8)}…${id.slice(-5)}` : id
  return (
    <button
      type="button"
      onClick={event => {
        // In a row that opens something.
        event.stopPropagation()
        event.preventDefault()
        void copy(id)
      }}
      title={id}
      aria-label={`${short}: ${t('all.copy')}`}
      className={clsx(
        'inline-flex touch:min-h-11 items-center gap-1 font-mono text-code',
        'whitespace-nowrap text-muted hover:text-text',
      )}
    >
      {short}
      {copied ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />}
    </button>
  )
}

interface SecretProps {
  readonly secret: string
  /** Called once it is in the clipboard. */
  readonly onCopied?: () => void
  /** What the button says; absent = it is a key. */
  readonly action?: string
}

/** A secret that is shown once, with a large button that copies it. */
export function Secret({ secret, onCopied, action = t('secret.copy') }: SecretProps) {
  const { copied, copy } = useCopy()
  return (
    <div className="flex flex-col gap-2">
      <output className="block rounded-control border border-line-strong bg-bg p-3 font-mono text-code break-all">
        {secret}
      </output>
      <div className="flex items-center justify-between gap-2">
        <span className="text-muted">{t('secret.once')}</span>
        <Button
          kind="primary"
          data-first-focus
          icon={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
          onClick={() => void copy(secret).then(done => done && onCopied?.())}
        >
          {copied ? t('all.copied') : action}
        </Button>
      </div>
    </div>
  )
}
