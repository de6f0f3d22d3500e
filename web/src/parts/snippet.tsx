// A snippet comes as escaped HTML with <mark>. It is taken apart here and never given to the HTML parser.

const names: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", apos: "'" };

function unescape(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|apos|#39);/g, (_, name: string) => names[name]);
}

export function Snippet({ html }: { html: string }) {
  const parts = html.split(/(<mark>|<\/mark>)/);
  let marked = false;
  return (
    <p class="snippet" dir="auto">
      {parts.map((part, index) => {
        if (part === '<mark>' || part === '</mark>') {
          marked = part === '<mark>';
          return null;
        }
        return marked ? <mark key={index}>{unescape(part)}</mark> : unescape(part);
      })}
    </p>
  );
}
