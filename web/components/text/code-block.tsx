import { Check, Copy } from 'lucide-react'
import { useCopy } from '../../lib/copy.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { Tabs } from '../tabs.tsx'

/** The same thing in one language or for one client. */
export interface Snippet {
  /** The tab: "curl", "Python". */
  readonly title: string
  readonly code: string
}

/** Code with a copy button; several snippets are tabs. */
export function CodeBlock({ label, snippets }: { readonly label: string; readonly snippets: readonly Snippet[] }) {
  const [only] = snippets
  if (snippets.length === 1 && only) return <Code label={label} code={only.code} />
  return (
    <Tabs
      label={label}
      tabs={snippets.map(({ title, code }) => ({
        value: title,
        label: title,
        content: <Code label={`${label}: ${title}`} code={code} />,
      }))}
    />
  )
}

function Code({ label, code }: { readonly label: string; readonly code: string }) {
  const { copied, copy } = useCopy()
  return (
    <div className="relative min-w-0">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <section aria-label={label} tabIndex={0} className="overflow-x-auto rounded-control border border-line bg-bg">
        <pre className="p-3 pr-8 font-mono text-code">{code}</pre>
      </section>
      <div className="absolute top-1 right-1 rounded-control bg-bg">
        <Button
          kind="quiet"
          icon={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
          aria-label={copied ? t('all.copied') : `${t('all.copy')}: ${label}`}
          onClick={() => void copy(code)}
        />
      </div>
    </div>
  )
}
