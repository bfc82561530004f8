//! The template engine, set up so that a template is legal Nix and can print Nix only.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use crate::nix_text::NixText;

/// The template that makes the module; it includes the others.
const ROOT: &str = "module.nix";

/// Fills the root template in.
///
/// All delimiters are Nix comments; an unknown name, and any value that is not a [`NixText`], is
/// an error.
pub(crate) fn fill<'a>(
    templates: impl Iterator<Item = (&'a str, &'a str)>,
    values: impl IntoIterator<Item = (&'static str, NixText)>,
) -> Result<String, Error> {
    let mut environment = Environment::empty();
    environment.set_syntax(
        SyntaxConfig::builder()
            .variable_delimiters("/*=", "=*/")
            .block_delimiters("/*%", "%*/")
            .comment_delimiters("/*#", "#*/")
            .line_statement_prefix("#%")
            .keep_trailing_newline(true)
            .build()?,
    );
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(|out, _, value| match value.downcast_object_ref::<NixText>() {
        Some(text) => out.write_str(text.as_str()).map_err(Error::from),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("only Nix text can be printed, not {}", value.kind()),
        )),
    });
    for (name, template) in templates {
        environment.add_template(name, template)?;
    }
    for (name, text) in values {
        environment.add_global(name, Value::from_object(text));
    }
    environment.get_template(ROOT)?.render(())
}

#[cfg(test)]
mod tests {
    use super::fill;
    use crate::nix_string::NixString;

    fn filled(template: &str) -> Result<String, String> {
        let text = NixString::new("a${b}").unwrap().quoted();
        let templates = [("module.nix", template), ("part.nix", "{ a = 1; }\n")];
        fill(templates.into_iter(), [("text", text)]).map_err(|error| error.to_string())
    }

    #[test]
    fn templates_are_nix_with_comments() {
        let template =
            "{ x = [ /*= text =*/ ]; }\n/*# not kept #*/[ /*% include \"part.nix\" %*/ ]\n";
        assert_eq!(filled(template).unwrap(), "{ x = [ \"a\\${b}\" ]; }\n[ { a = 1; }\n ]\n");
    }

    #[test]
    fn nothing_but_nix_text_is_printed() {
        for template in ["/*= 'a' =*/", "/*= 1 =*/", "/*= text ~ text =*/", "/*= [text] =*/"] {
            let error = filled(template).unwrap_err();
            assert!(error.contains("only Nix text can be printed"), "{template}: {error}");
        }
    }

    #[test]
    fn unknown_names_are_errors() {
        for template in ["/*= texts =*/", "/*= text.inside =*/", "/*% include \"none.nix\" %*/"] {
            filled(template).unwrap_err();
        }
    }

    #[test]
    fn other_template_languages_and_nix_comments_mean_nothing() {
        let template = "# {{ text }} {% if %}\n/* kept */ ''${x} #}''\n";
        assert_eq!(filled(template).unwrap(), template);
    }
}
