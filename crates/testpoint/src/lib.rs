//! Named points where a test can pause, fail or kill the process.
//!
//! Production code calls [`hit`] (or [`check`], where an error can be returned) at the few places
//! where a crash or a pause matters. Without the `enabled` feature both are empty.
//! With it, the directory named by `AGENT_BOX_TESTPOINTS` steers them; see the module `steer`.
//!
//! **Invariants**
//! - Knows no domain word: a point is a string.
//! - Without the feature nothing of this crate reads the environment or a file.

#[cfg(feature = "enabled")]
pub mod steer;

/// Passes through the point `name`: pauses or kills the process if a test asked for it.
#[inline]
pub fn hit(name: &str) {
    #[cfg(feature = "enabled")]
    steer::hit(name);
    #[cfg(not(feature = "enabled"))]
    let _ = name;
}

/// Like [`hit`], for places that can report a fault.
///
/// # Errors
/// When a test armed this point with `fail`.
#[inline]
pub fn check(name: &str) -> std::io::Result<()> {
    #[cfg(feature = "enabled")]
    return steer::check(name);
    #[cfg(not(feature = "enabled"))]
    {
        let _ = name;
        Ok(())
    }
}
